"""What is said on the lake: observations in three forms, and actions as text."""

from functools import lru_cache
from typing import NamedTuple

from turnscope.environments.frozen_lake.lake import GOAL, HOLE, ICE, START, WORDS, Lake
from turnscope.types import Step

VIEWS = ("position", "map", "grid")
DROWNED, ARRIVED = "X", "√"
HINT = "say left, down, right or up"
ASK = "Answer with one word: left, down, right or up."
"""Stands behind a drawing: a small language model that is asked before it goes on drawing."""
WAYS = {word: way for way, word in enumerate(WORDS)}


class Replies(NamedTuple):
    """All that can be said in one view of one lake."""

    first: str
    """Observation at the start."""
    moved: tuple[Step, ...]
    """Reply to a move that led to each cell."""
    invalid: tuple[Step, ...]
    """Reply to text that is no action, in each cell."""


def way_of(action: str) -> int | None:
    """Read an action.

    Args:
        action: What the policy said. A direction, in any case, alone or on the last line, or
            between `<answer>` and `</answer>` at the end.

    Returns:
        Index into `WORDS`; None when this is no action.
    """
    text = action.strip().lower()
    if text.endswith("</answer>"):
        text = text[: -len("</answer>")].rpartition("<answer>")[2]
    else:
        text = text.rpartition("\n")[2]
    return WAYS.get(text.strip())


def _drawing(lake: Lake, cell: int) -> str:
    """Draw the lake with the player at a cell."""
    symbols = list(lake.tiles.replace(START, ICE))
    symbols[cell] = {HOLE: DROWNED, GOAL: ARRIVED}.get(symbols[cell], START)
    return "\n".join("".join(symbols[i : i + lake.size]) for i in range(0, len(symbols), lake.size))


def _place(lake: Lake, cell: int) -> str:
    """Say where the player is and, if the episode ends there, why."""
    return f"at={lake.names[cell]}" + {HOLE: " hole", GOAL: " goal"}.get(lake.tiles[cell], "")


def _first(lake: Lake, view: str) -> str:
    start, goal = lake.names[lake.start], lake.names[lake.goal]
    if view == "position":
        tiles = zip(lake.names, lake.tiles, strict=True)
        holes = "".join(f" hole={name}" for name, tile in tiles if tile == HOLE)
        return f"at={start} size={lake.size} goal={goal}{holes}"
    drawing = _drawing(lake, lake.start)
    if view == "map":
        return f"{drawing}\nat={start} goal={goal}"
    ice = f"With probability {lake.slip:g} you slide to one side instead. " if lake.slip else ""
    return (
        "You are P on a frozen lake of ice _ and holes O. Reach the goal G and do not fall into a "
        f"hole. Each turn you move one cell. {ice}Walls keep you in place.\n{drawing}\n{ASK}"
    )


@lru_cache(maxsize=1024)
def replies(lake: Lake, view: str) -> Replies:
    """Write down all observations of a lake.

    Args:
        lake: Where.
        view: One of `VIEWS`.

    Returns:
        One reply for each cell and kind.
    """
    describe = _drawing if view == "grid" else _place
    hint = f"\n{ASK}" if view == "grid" else f" {HINT}"
    moved, invalid = [], []
    for cell, tile in enumerate(lake.tiles):
        text = describe(lake, cell)
        arrived = tile == GOAL
        moved.append(Step(text, float(arrived), tile in (GOAL, HOLE), arrived))
        invalid.append(Step(f"{text}{hint}", 0.0, False, valid=False))
    return Replies(_first(lake, view), tuple(moved), tuple(invalid))
