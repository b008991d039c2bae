"""Requests to the file system: files lie in folders that must be found first."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from turnscope.environments.bfcl._scenes import Asked, Call, Scene, choose, one

FOLDERS = ("docs", "pics", "work", "data", "lab", "old")
FILES = ("plan", "song", "list", "memo", "map")
NAMES = ("red", "blue", "tan", "pink", "grey")
"""Of what is new."""
TEXTS = ("one", "two", "six", "ten")
PARAMETERS = {
    "find": ("path", "name"),
    "cd": ("folder",),
    "cat": ("file_name",),
    "echo": ("content", "file_name"),
    "mv": ("source", "destination"),
    "cp": ("source", "destination"),
    "rm": ("file_name",),
    "touch": ("file_name",),
    "mkdir": ("dir_name",),
}
KINDS = {
    "find": ("", "file"),
    "cd": ("folder",),
    "cat": ("file",),
    "echo": ("text", "file"),
    "mv": ("file", "name"),
    "cp": ("file", "name"),
    "rm": ("file",),
    "touch": ("name",),
    "mkdir": ("name",),
}
HELD, PLACED = 3, 4
"""Folders, and files in them."""
READ = 0.5
"""Share of requests to read that also want the text elsewhere, if a file is near."""


@dataclass
class World:
    """Folders, and the file system's place in them."""

    folders: list[str]
    places: dict[str, str]
    """Folder of each file."""
    texts: dict[str, str]
    """Content of each file."""
    here: str = ""
    """Current folder; empty in the root."""
    told: set[str] = field(default_factory=set)
    """What was read: the checker does not want it again."""

    def config(self) -> dict[str, Any]:
        """Return the configuration of the official class."""
        contents: dict[str, Any] = {}
        for folder in self.folders:
            files = {
                name: {"type": "file", "content": self.texts[name]}
                for name, place in self.places.items()
                if place == folder
            }
            contents[folder] = {"type": "directory", "contents": files}
        return {"root": {"home": {"type": "directory", "contents": contents}}}

    def ask(self, random: np.random.Generator) -> Asked:
        """Draw a request about one file or folder, and do it."""
        asks = [self._rename, self._write, self._remove, self._read, self._make]
        return one(random, asks)(random)

    def _go(self, folder: str) -> list[Call]:
        back: list[Call] = [("cd", "/")] if self.here else []
        self.here = folder
        return [*back, ("cd", folder)] if folder else back

    def _free(self) -> list[str]:
        return [name for name in NAMES if name not in self.places]

    def _find(self, random: np.random.Generator, name: str = "") -> tuple[str, list[Call]]:
        name = name or one(random, sorted(self.places))
        return name, [("find", "/", name), *self._go(self.places[name])]

    def _rename(self, random: np.random.Generator) -> Asked:
        new, moves = one(random, self._free()), random.random() < 0.5
        name, calls = self._find(random)
        self.places[new], self.texts[new] = self.places[name], self.texts[name]
        if moves:
            del self.places[name], self.texts[name]
        text = f"rename {name} as {new}" if moves else f"copy {name} as {new}"
        return Asked(text, (*calls, ("mv" if moves else "cp", name, new)))

    def _write(self, random: np.random.Generator) -> Asked:
        name, calls = self._find(random)
        text = one(random, [text for text in TEXTS if text != self.texts[name]])
        self.texts[name] = text
        return Asked(f"write {text} to {name}", (*calls, ("echo", text, name)))

    def _remove(self, random: np.random.Generator) -> Asked:
        name, calls = self._find(random)
        del self.places[name], self.texts[name]
        return Asked(f"remove {name}", (*calls, ("rm", name)))

    def _read(self, random: np.random.Generator) -> Asked:
        fresh = [name for name in sorted(self.places) if self.texts[name] not in self.told]
        if not fresh:
            return self._write(random)
        name, calls = self._find(random, one(random, fresh))
        calls.append(("cat", name))
        self.told.add(self.texts[name])
        near = [
            other
            for other, place in sorted(self.places.items())
            if place == self.here and self.texts[other] != self.texts[name]
        ]
        if not near or random.random() >= READ:
            return Asked(f"read {name}", tuple(calls))
        other = one(random, near)
        self.texts[other] = self.texts[name]
        return Asked(f"text of {name} to {other}", (*calls, ("echo", self.texts[name], other)))

    def _make(self, random: np.random.Generator) -> Asked:
        name = one(random, self._free())
        if random.random() < 0.5:
            folder = one(random, self.folders)
            calls = self._go(folder)
            self.places[name], self.texts[name] = folder, ""
            return Asked(f"new file {name} in {folder}", (*calls, ("touch", name)))
        folder = one(random, [name for name in FOLDERS if name not in self.folders])
        calls = self._go("")
        self.folders.append(folder)
        return Asked(f"new folder {folder}", (*calls, ("mkdir", folder)))


def draw(random: np.random.Generator) -> World:
    """Draw folders with files in them."""
    folders = choose(random, FOLDERS, HELD)
    names = choose(random, FILES, PLACED)
    return World(
        folders,
        {name: one(random, folders) for name in names},
        {name: one(random, TEXTS) for name in names},
    )


def pools(config: dict[str, Any]) -> dict[str, Any]:
    """List what can be mistaken for another."""
    folders = config["root"]["home"]["contents"]
    return {"folder": list(folders), "file": FILES, "name": NAMES, "text": TEXTS}


SCENE = Scene(
    stratum="files",
    parameters=PARAMETERS,
    kinds=KINDS,
    looks=frozenset({"find", "cat"}),
    draw=draw,
    pools=pools,
    slips=("cd / ; mkdir new", "cd / ; touch new"),
)
