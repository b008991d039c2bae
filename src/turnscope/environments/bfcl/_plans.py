"""What is to be said next to a request of `small_requests`, and what may be said instead."""

from collections.abc import Sequence
from typing import Any

from turnscope.environments.bfcl._catalogue import (
    is_pair,
    kinds,
    read,
    scene_of,
    side,
    split_of,
)
from turnscope.environments.bfcl._scenes import Call, compact
from turnscope.environments.bfcl.compact import DONE

EARLY = 8
"""Other mistakes for each one that ends the request."""


def plan(payload: dict[str, Any], request: int) -> list[list[Call]]:
    """Split the gold calls of a request into responses that need no output still unseen.

    Args:
        payload: The problem.
        request: Number of the request, from 0.
    """
    looks = scene_of(payload).looks
    calls = [read(text) for text in payload["gold"][request]]
    responses: list[list[Call]] = [[]]
    for call, after in zip(calls, [*calls[1:], None], strict=True):
        responses[-1].append(call)
        if call[0] in looks and after and after[0] not in looks:
            responses.append([])
    return [_from_root(response) for response in responses]


def _from_root(calls: list[Call]) -> list[Call]:
    """Let a response that goes to a folder, or makes one, start at the root, wherever it is."""
    starts = calls[0][0] == "mkdir" or (calls[0][0] == "cd" and calls[0][1] != "/")
    return [("cd", "/"), *calls] if starts else calls


def turns(payload: dict[str, Any]) -> int:
    """Count the turns that the expert needs without a mistake."""
    plans = [plan(payload, request) for request in range(len(payload["gold"]))]
    return sum(len(responses) + 1 + _tries(responses[-1]) for responses in plans)


def _tries(calls: Sequence[Call]) -> bool:
    """Say whether only an error tells that other calls must come first."""
    return calls[-1][0] == "setCruiseControl" and len(calls) > 1


def following(
    payload: dict[str, Any], request: int, calls: Sequence[str], said: Sequence[str]
) -> list[Call]:
    """Return the calls to make now; none if all is done.

    Args:
        payload: The problem.
        request: Number of the present request, from 0.
        calls: Calls of this request so far, as the official checker reads them.
        said: Their outputs.
    """
    tried = [read(text) for text in calls]
    worked = [call for call, output in zip(tried, said, strict=True) if not _failed(output)]
    for response in plan(payload, request):
        if response[-1] not in worked:
            fresh = _tries(response) and response[-1] not in tried
            return response[-1:] if fresh else response
    return []


def _failed(output: str) -> bool:
    return '"error"' in output or output.startswith("Error")


def slips(payload: dict[str, Any], request: int, now: Sequence[Call]) -> list[str]:
    """List what may be said by mistake, a text twice if it is twice as probable.

    These are the right response, and those that must wait, with one value changed; the end of the
    request; and behind a request that is done, its last response with one value changed.

    Args:
        payload: The problem.
        request: Number of the present request, from 0.
        now: The right response.
    """
    responses = plan(payload, request)
    if not now:
        return [compact(calls) for calls in _near(payload, responses[-1])]
    at = responses.index([*now]) if [*now] in responses else len(responses) - 1
    wrong = [calls for one in [now, *responses[at + 1 :]] for calls in _near(payload, one)]
    return [*map(compact, wrong), *[DONE] * (1 + len(wrong) // EARLY)]


def _near(payload: dict[str, Any], calls: Sequence[Call]) -> list[list[Call]]:
    """List responses that differ in one value, and have no pair of the other split."""
    scene, split, found = scene_of(payload), split_of(payload), []
    pools = scene.pools(payload["config"][payload["classes"][0]])
    for place, call in enumerate(calls):
        for spot, kind in enumerate(kinds(call[0]), 1):
            for value in pools[kind] if kind else ():
                other = (*call[:spot], value, *call[spot + 1 :])
                if other != call and (not is_pair(other) or side(other) == split):
                    found.append([*calls[:place], other, *calls[place + 1 :]])
    return found
