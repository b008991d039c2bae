"""A hub for tests of downloads, on this machine."""

import hashlib
import http.server
import json
import threading
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(http.server.ThreadingHTTPServer):
    """A hub with one dataset, as far as downloads need one."""

    daemon_threads = True

    def __init__(self, dataset: str, files: dict[str, bytes]):
        super().__init__(("127.0.0.1", 0), Handler)
        self.dataset, self.files = dataset, files
        self.claimed = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
        self.ranges: list[str | None] = []
        self.breaks = 0
        """Downloads to break off in the middle."""
        self.held: dict[str, threading.Event] = {}
        """Files that are sent only after an event."""

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def hub(self) -> Hub:
        assert isinstance(self.server, Hub)
        return self.server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body: bool) -> None:
        address = self.path.partition("?")[0]
        tree = f"/api/datasets/{self.hub.dataset}/tree/{COMMIT}/"
        resolve = f"/datasets/{self.hub.dataset}/resolve/{COMMIT}/"
        if address.startswith(tree):
            self.tree(address.removeprefix(tree), body)
        elif address.startswith(resolve) and address.removeprefix(resolve) in self.hub.files:
            self.file(address.removeprefix(resolve), body)
        else:
            self.send(404, b"{}", {"X-Error-Code": "EntryNotFound"}, body)

    def tree(self, folder: str, body: bool) -> None:
        entries = [
            {
                "type": "file",
                "path": path,
                "size": len(data),
                "oid": "0" * 40,
                "lfs": {"oid": self.hub.claimed[path], "size": len(data), "pointerSize": 1},
            }
            for path, data in self.hub.files.items()
            if path.startswith(f"{folder}/")
        ]
        self.send(200, json.dumps(entries).encode(), {"Content-Type": "application/json"}, body)

    def file(self, path: str, body: bool) -> None:
        data, asked = self.hub.files[path], self.headers.get("Range")
        headers = {
            "X-Repo-Commit": COMMIT,
            "ETag": f'"{self.hub.claimed[path]}"',
            "X-Linked-Etag": f'"{self.hub.claimed[path]}"',
            "X-Linked-Size": str(len(data)),
            "Accept-Ranges": "bytes",
        }
        start = 0
        if body:
            self.hub.ranges.append(asked)
            if path in self.hub.held:
                self.hub.held[path].wait(30)
        if asked:
            start = int(asked.removeprefix("bytes=").split("-")[0])
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        broken = body and self.hub.breaks > 0
        self.hub.breaks -= broken
        self.send(206 if asked else 200, data[start:], headers, body, broken)

    def send(
        self, status: int, data: bytes, headers: dict[str, str], body: bool, broken: bool = False
    ) -> None:
        self.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(data))}).items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(data[: len(data) // 2] if broken else data)
        if broken:
            self.close_connection = True
