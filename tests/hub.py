"""A hub for tests of downloads, on this machine."""

import hashlib
import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(http.server.ThreadingHTTPServer):
    """A hub with one repository, as far as downloads need one.

    Args:
        name: Of the repository.
        files: Its content, by path.
        kind: `dataset` or `model`.
        small: Ends of the names of files that are not in LFS.
    """

    daemon_threads = True

    def __init__(
        self,
        name: str,
        files: dict[str, bytes],
        kind: str = "dataset",
        small: tuple[str, ...] = (".json", ".jinja", ".txt"),
    ):
        super().__init__(("127.0.0.1", 0), Handler)
        self.name, self.files, self.kind, self.small = name, files, kind, small
        self.claimed = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
        self.blobs = {path: git_id(data) for path, data in files.items()}
        self.ranges: list[str | None] = []
        self.listed = 0
        """How often the files were asked for."""
        self.breaks = 0
        """Downloads to break off in the middle."""
        self.listing = {path: len(data) for path, data in files.items()}
        """Sizes of the files that are told to be there."""
        self.held: dict[str, threading.Event] = {}
        """Files that are sent only after an event."""

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


def git_id(data: bytes) -> str:
    """Name a file as git does."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Answer until the end of the block."""
    thread = threading.Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        thread.join()
        hub.server_close()


def reached(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Say where the hub is, as `HF_ENDPOINT` does before its client is imported."""
    template = f"{endpoint}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", endpoint)
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)


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
        tree = f"/api/{self.hub.kind}s/{self.hub.name}/tree/{COMMIT}"
        group = "datasets/" if self.hub.kind == "dataset" else ""
        resolve = f"/{group}{self.hub.name}/resolve/{COMMIT}/"
        if address.startswith(tree):
            self.tree(address.removeprefix(tree).strip("/"), body)
        elif address.startswith(resolve) and address.removeprefix(resolve) in self.hub.files:
            self.file(address.removeprefix(resolve), body)
        else:
            self.send(404, b"{}", {"X-Error-Code": "EntryNotFound"}, body)

    def tree(self, folder: str, body: bool) -> None:
        self.hub.listed += 1
        entries = []
        for path, size in self.hub.listing.items():
            if path.rpartition("/")[0] != folder:
                continue
            entry = {"type": "file", "path": path, "size": size, "oid": "0" * 40}
            if path.endswith(self.hub.small):
                entry["oid"] = self.hub.blobs[path]
            else:
                entry["lfs"] = {"oid": self.hub.claimed[path], "size": size, "pointerSize": 1}
            entries.append(entry)
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
