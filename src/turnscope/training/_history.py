"""What is read off the history of a run: how much was sampled, and how it went."""

from collections.abc import Sequence
from typing import Any

from transformers import TrainerCallback

OURS = "ours/"
"""Begins the names of our measurements among TRL's."""


class Enough(TrainerCallback):
    """Ends a run that has sampled enough.

    Args:
        tokens: How much that is; None is no end before the last step.
    """

    def __init__(self, tokens: int | None):
        self._tokens = tokens

    def on_log(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Stop and save after the step that was logged."""
        if self._tokens is not None and sampled(state.log_history) >= self._tokens:
            control.should_training_stop = control.should_save = True


def sampled(history: Sequence[dict[str, Any]]) -> int:
    """Return how many tokens the policy sampled in all steps that were logged."""
    return int(max(curve(history, "tokens_total"), default=0))


def curve(history: Sequence[dict[str, Any]], name: str) -> list[float]:
    """Collect one of our measurements, step after step; NaN where it is undefined."""
    found = (entry[OURS + name] for entry in history if OURS + name in entry)
    return [float("nan") if value is None else float(value) for value in found]
