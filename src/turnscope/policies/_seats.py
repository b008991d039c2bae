"""What policies with a model read off a seat."""

import json
import sys

from turnscope.types import Seat


def tokens(seat: Seat) -> list[int]:
    """Return all tokens of an episode so far; empty at its start.

    Raises:
        ValueError: A part of it was played without a model.
    """
    found: list[int] = []
    for turn in seat.history:
        if not turn.action_ids:
            raise ValueError(
                f"task {seat.task.task_id}: its prefix was played without a model and has "
                "no tokens to go on from"
            )
        found += [*turn.context_ids, *turn.action_ids]
    return found


def said(seat: Seat) -> int:
    """Return how many tokens the policy has said so far."""
    return sum(len(turn.action_ids) for turn in seat.history)


def tools(seat: Seat) -> str:
    """Return the functions that the environment lets a policy call, in JSON; empty is none."""
    found = getattr(seat.environment, "tools", None)
    # Interned, for caches of the renderer have it in each of their keys.
    return sys.intern(json.dumps(found)) if found else ""
