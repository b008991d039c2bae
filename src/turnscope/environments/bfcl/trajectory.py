"""Where an episode stands, and what calls and closings make of it.

A state key holds the calls that mattered: those of each response that changed the systems, or that
got an output which the solution gets and which was not got often enough before. Playing them again
leads to the same systems, and nothing else of the past has a part in the future.
"""

import json
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from turnscope.environments.bfcl.calls import Call
from turnscope.environments.bfcl.host import LIMIT, State, simulator
from turnscope.environments.bfcl.problems import Exercise

REMEMBERED = 256
"""Most states of a task whose agreement with the solution is kept."""


class Place(NamedTuple):
    """What a state key says."""

    kept: tuple[tuple[str, ...] | None, ...] = (None,)
    """Calls that mattered, for each request up to the present one; None before any call."""
    used: int = 0
    """Responses with calls to the present request; 0 where there may be any number."""
    over: str = ""
    """How the episode ended; empty while it goes on."""

    @property
    def request(self) -> int:
        """Return the number of the present request, from 0."""
        return len(self.kept) - 1

    @property
    def key(self) -> str:
        """Return the state key."""
        fields: dict[str, Any] = {"calls": self.kept}
        fields |= {name: value for name in ("used", "over") if (value := getattr(self, name))}
        return json.dumps(fields, separators=(",", ":"))


def parse(state_key: str) -> Place:
    """Read a state key."""
    fields = json.loads(state_key)
    kept = tuple(None if one is None else tuple(one) for one in fields.pop("calls"))
    return Place(kept, **fields)


class Stand(NamedTuple):
    """Where an episode stands."""

    place: Place
    state: State
    """Of the systems."""
    got: tuple[str, ...]
    """Outputs of the calls that mattered."""


class Answer(NamedTuple):
    """What came of a response with calls."""

    calls: tuple[str, ...]
    """As Python writes them."""
    outputs: tuple[str, ...]
    counted: tuple[str, ...]
    """Calls that the checker sees: those of functions that may be called, within limits."""
    stand: Stand


def begin(asked: Exercise) -> Stand:
    """Stand at the first request."""
    return Stand(Place(), _start(asked), ())


@lru_cache(maxsize=1 << 12)
def _start(asked: Exercise) -> State:
    return simulator().start(asked.payload)


def made(asked: Exercise, calls: Sequence[Call]) -> tuple[str, ...]:
    """Return the calls of functions that may be called, as Python writes them."""
    return tuple(call.text for call in calls if call.name in asked.signatures)


def respond(asked: Exercise, stand: Stand, calls: Sequence[Call], limited: bool = False) -> Answer:
    """Make the calls of a response.

    Args:
        asked: The task.
        stand: Where it is made.
        calls: One or more.
        limited: Whether responses to a request are counted.
    """
    place, known = stand.place, asked.signatures
    texts = made(asked, calls)
    acted = simulator().act(stand.state, texts)
    answers = iter(acted.outputs)
    outputs = tuple(next(answers) if one.name in known else _unknown(one) for one in calls)
    seen = [pair for pair in zip(texts, acted.outputs, strict=True) if pair[1] != LIMIT]
    counted, fresh = tuple(text for text, _ in seen), tuple(output for _, output in seen)
    kept, got = place.kept[-1], stand.got
    if counted:
        matters = acted.state.digest != stand.state.digest or _new(asked, got, fresh)
        kept = (*(kept or ()), *(counted if matters else ()))
        got = (*got, *fresh) if matters else got
    place = Place((*place.kept[:-1], kept), place.used + limited)
    return Answer(
        tuple(call.text for call in calls), outputs, counted, Stand(place, acted.state, got)
    )


def close(stand: Stand) -> Stand:
    """Go on to the next request."""
    return stand._replace(place=Place((*stand.place.kept, None)))


def _unknown(call: Call) -> str:
    """Answer as the benchmark does; there, builtins are known as well."""
    return f"Error during execution: name {call.name.partition('.')[0][:100]!r} is not defined"


def _new(asked: Exercise, got: Sequence[str], outputs: Sequence[str]) -> bool:
    """Say whether one of the outputs is needed and not there yet."""
    needed = wanted(asked)
    have = Counter(got)
    return any(have[output] < needed.get(output, 0) for output in outputs)


@lru_cache(maxsize=1 << 12)
def outputs(asked: Exercise) -> tuple[tuple[str, ...], ...]:
    """Return what the solution's calls return, for each request."""
    state, found = _start(asked), []
    for calls in asked.payload["gold"]:
        answers, state = simulator().act(state, calls)
        found.append(answers)
    return tuple(found)


@lru_cache(maxsize=1 << 12)
def wanted(asked: Exercise) -> dict[str, int]:
    """Return the outputs that some request needs, and how often at most."""
    most: Counter[str] = Counter()
    for some in outputs(asked):
        most |= Counter(some)
    return most


def rebuild(asked: Exercise, place: Place) -> Stand:
    """Return to where a state key says."""
    state, got = _start(asked), ()
    for calls in filter(None, place.kept):
        acted = simulator().act(state, calls)
        state, got = acted.state, (*got, *acted.outputs)
    return Stand(place, state, got)


def done(asked: Exercise, stand: Stand) -> float:
    """Return how far the present request is done, 0 to 1; see `grading`."""
    request = stand.place.request
    needed, have = Counter(outputs(asked)[request]), Counter(stand.got)
    share = (needed & have).total() / needed.total() if needed else 1.0
    if needed and stand.place.kept[-1] is None:
        share = 0.0  # the checker wants a call in each request that has one in the solution
    return (agreement(asked, stand) + share) / 2


def agreement(asked: Exercise, stand: Stand) -> float:
    """Return the share of public attributes that are as the solution leaves them."""
    key = stand.state.digest, stand.place.request
    if key not in asked.agreements:
        if len(asked.agreements) >= REMEMBERED:
            asked.agreements.clear()
        asked.agreements[key] = simulator().agreement(asked.payload, stand.state, key[1])
    return asked.agreements[key]


@lru_cache(maxsize=1 << 12)
def verdict(asked: Exercise, said: tuple[tuple[tuple[str, ...], ...], ...]) -> str:
    """Return what the official checker finds wrong; empty if nothing is.

    Args:
        asked: The task.
        said: The calls of each response to each request.
    """
    return simulator().verdict(asked.payload, said)
