"""One task whose answers can be worked out by hand, and how to play it."""

from typing import Any

from turnscope.environments import bfcl
from turnscope.types import Step, Task

PAYLOAD: dict[str, Any] = {
    "category": "miss_func",
    "requests": ["make a folder docs and say what is here", "", "read a.txt"],
    "classes": ["GorillaFileSystem"],
    "config": {
        "GorillaFileSystem": {
            "root": {
                "home": {
                    "type": "directory",
                    "contents": {"a.txt": {"type": "file", "content": "red"}},
                }
            }
        }
    },
    "functions": ["mkdir", "ls", "touch", "cd", "echo", "pwd"],
    "held": {"1": ["cat"]},
    "gold": [["mkdir(dir_name='docs')", "ls()"], [], ["cat('a.txt')"]],
    "source": "official",
    "format": "compact",
    "undecodable": "wasted",
}
GOLD = ["mkdir docs ; ls", "done", "done", "cat a.txt", "done"]


def task(**changes: Any) -> Task:
    """Make the task, with another payload where changes are given."""
    return Task("by-hand", "test", "files", "by-hand", PAYLOAD | changes, 5)


def begin(*actions: str, of: Task | None = None, **options: Any) -> bfcl.Environment:
    """Play some actions and return the environment."""
    environment = bfcl.Environment(**options)
    environment.reset(of or task(), 0)
    for action in actions:
        environment.step(action)
    return environment


def steps(*actions: str, of: Task | None = None, **options: Any) -> list[Step]:
    """Play actions from the start; return what they were answered."""
    environment = begin(of=of, **options)
    return [environment.step(action) for action in actions]


def key(*actions: str, of: Task | None = None, **options: Any) -> str:
    """Return the state key after some actions."""
    return begin(*actions, of=of, **options).state_key()
