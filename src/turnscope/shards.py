"""Cut a set of episodes into parts that jobs play side by side.

A part is a run of whole batches. So batches are composed as they are in one job, and the tables of
all parts, one after the other, are the tables of that job, byte for byte.
"""

import math
from collections.abc import Sequence
from typing import TypeVar

Piece = TypeVar("Piece")


def pieces(tasks: int, episodes: int, batch: int) -> list[slice]:
    """Cut tasks where a batch ends with the last episode of a task, in as many runs as there are.

    Args:
        tasks: How many.
        episodes: Of each task, played one after the other.
        batch: Episodes played side by side.

    Returns:
        The tasks of each run; all but the last fill their batches.
    """
    stride = math.lcm(episodes, batch) // episodes
    return [slice(at, at + stride) for at in range(0, tasks, stride)]


def share(everything: Sequence[Piece], part: int, parts: int) -> Sequence[Piece]:
    """Return what belongs to one part: neighbours, as many as any other part has, or one more.

    Args:
        everything: What is shared out.
        part: Number of the part, from 1.
        parts: How many there are. If there are more than pieces, some are empty.

    Raises:
        ValueError: There is no such part.
    """
    if not 1 <= part <= parts:
        raise ValueError(f"part is {part}; legal is 1 to {parts}")
    first, last = (len(everything) * number // parts for number in (part - 1, part))
    return everything[first:last]
