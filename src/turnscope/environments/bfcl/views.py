"""What is said to a policy about requests and calls, in two forms."""

import json
from collections.abc import Sequence
from typing import Any

VIEWS = ("compact", "full")
SOLVED = "all requests are done"
WRONG = "not all requests are done"
FORCED = "too many responses to one request"
HOW = (
    "You can call the functions that are listed below, in JSON. Answer with calls alone, as a list"
    " in Python: [f(a=1), g(b='x')]. You are told what they return, and can call again. When"
    " nothing is left to call, answer in words; then comes the next request of the user."
)
EDGES = "'\".,:;!?()[]{}"
"""What is left out at the ends of words in the view for small tokenizers."""
MORE = "There are more functions now: try again with them."


def first(asked: str, form: str, view: str, documents: Sequence[dict[str, Any]]) -> str:
    """Write the first observation.

    Args:
        asked: What the user says.
        form: How calls are said, one of `calls.FORMATS`.
        view: One of `VIEWS`.
        documents: Functions that may be called. `qwen3` leaves it to the chat template to show
            them, `compact` shows none.
    """
    if form != "python" or view == "compact":
        return asked
    return f"{HOW}\n\n{json.dumps([*documents])}\n\n{asked}"


def following(asked: str, form: str, view: str, fresh: Sequence[dict[str, Any]]) -> str:
    """Write a later request.

    Args:
        asked: What the user says; empty where nothing but functions is new.
        form: How calls are said.
        view: One of `VIEWS`.
        fresh: Functions that may be called from now on.
    """
    if not fresh:
        return asked
    if view == "compact":
        names = (one.get("function", one)["name"] for one in fresh)
        return " ".join(["new", *names, asked]).rstrip()
    shown = json.dumps([*fresh])
    if form == "qwen3":
        shown = "\n".join(["<tools>", *map(json.dumps, fresh), "</tools>"])
    return f"{shown}\n\n{asked or MORE}"


def outputs(calls: Sequence[str], said: Sequence[str], form: str, view: str, cut: int) -> str:
    """Write what calls returned, one after the other.

    Args:
        calls: The calls, as Python writes them.
        said: What each of them returned.
        form: How calls are said.
        view: One of `VIEWS`.
        cut: Most characters of each output.

    Source:
        `qwen3` is the chat template of Qwen3, role `tool`; `python` the prompting handlers of
        bfcl-eval 2026.3.23.
    """
    shown = [_cut(_plain(one) if view == "compact" else one, cut) for one in said]
    if form == "qwen3":
        return "\n".join(f"<tool_response>\n{one}\n</tool_response>" for one in shown)
    if form == "python" and view == "full":
        answers = zip(calls, shown, strict=True)
        return repr([{"role": "tool", "name": call, "content": one} for call, one in answers])
    return " ; ".join(shown) if view == "compact" else "\n".join(shown)


def fault(why: str) -> str:
    """Say that a response could not be read."""
    return f"nothing was done: {why}"


def _plain(output: str) -> str:
    """Write an output as words with blanks between them; folders of a path are words."""
    try:
        found = _words(json.loads(output))
    except (ValueError, RecursionError):
        found = _words(output)
    return " ".join(found) or "ok"


def _words(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [word for key, one in value.items() for word in (key, *_words(one))]
    if isinstance(value, list):
        return [word for one in value for word in _words(one)]
    words = (word.strip(EDGES) for word in str(value).replace("/", " / ").split())
    return [word for word in words if word]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}..."
