"""What is read off the history of a run: how much was sampled, and how it went."""

from collections.abc import Callable, Sequence
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


class Opening(TrainerCallback):
    """Does something before the first step, once the weights lie where they are trained.

    Args:
        act: What; a run that is resumed has done it.
    """

    def __init__(self, act: Callable[[], None]):
        self._act = act

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Act, unless a step was done."""
        if state.global_step == 0:
            self._act()


class Pooled:
    """Makes means over the passes of a step into one over all of its tokens."""

    def __init__(self) -> None:
        self._tokens = 0

    def pool(self, means: list[float], tokens: int) -> None:
        """Replace the mean so far and that of one more pass by that of both.

        Args:
            means: One number in the first pass of a step, two in each later one.
            tokens: What the last of them is the mean of.
        """
        before = self._tokens if len(means) > 1 else 0
        self._tokens = before + tokens
        total = sum(means[:-1]) * before + means[-1] * tokens
        means[:] = [total / max(self._tokens, 1)]


def sampled(history: Sequence[dict[str, Any]]) -> int:
    """Return how many tokens the policy sampled in all steps that were logged."""
    return int(max(curve(history, "tokens_total"), default=0))


def curve(history: Sequence[dict[str, Any]], name: str) -> list[float]:
    """Collect one of our measurements, step after step; NaN where it is undefined."""
    found = (entry[OURS + name] for entry in history if OURS + name in entry)
    return [float("nan") if value is None else float(value) for value in found]
