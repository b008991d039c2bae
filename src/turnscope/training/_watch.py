"""What is done between steps: ending a run that has sampled enough, and raising the alarm."""

import logging
from collections.abc import Sequence
from typing import Any

from transformers import TrainerCallback

from turnscope import monitor

log = logging.getLogger(__name__)

OURS = "ours/"
"""Begins the names of our measurements among TRL's."""
TOTAL = f"{OURS}tokens_total"


class Watch(TrainerCallback):
    """Ends a run that has sampled enough, and warns once of a run that has collapsed.

    Args:
        enough: Tokens; None is no end before the last step.
    """

    def __init__(self, enough: int | None):
        self._enough, self._warned = enough, False

    def on_log(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Warn at the step at which the alarm first goes off."""
        why = monitor.collapse(curves(state.log_history))
        if why and not self._warned:
            log.warning("step %d: this run has collapsed: %s", state.global_step, why)
        self._warned = self._warned or why is not None
        if self._enough is not None and sampled(state.log_history) >= self._enough:
            control.should_training_stop = control.should_save = True


def sampled(history: Sequence[dict[str, Any]]) -> int:
    """Return how many tokens the policy sampled in all steps that were logged."""
    return int(max((entry.get(TOTAL) or 0 for entry in history), default=0))


def curves(history: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
    """Collect our measurements, step after step; NaN where one is missing."""
    names = sorted({name for entry in history for name in entry if name.startswith(OURS)})
    steps = [entry for entry in history if f"{OURS}success" in entry]
    return {
        name.removeprefix(OURS): [
            float("nan") if entry.get(name) is None else float(entry[name]) for entry in steps
        ]
        for name in names
    }
