"""What a critic is told and shown; `turnscope.critic.value` is the network."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from turnscope.crew import Crew
from turnscope.tuning import Tuning

LEVELS = ("token", "turn")


@dataclass(frozen=True, slots=True)
class Critic:
    """Credit by a learned value function, see `turnscope.advantages.gae`."""

    level: str
    """One of `LEVELS`: where values are predicted, before every token or before every turn."""
    discount: float
    """Gamma, for each step at that level."""
    trace: float
    """Lambda."""
    learning_rate: float
    clip: float
    """Farthest that a value may move in one batch before its loss stops falling."""
    epochs: int
    """Updates of the critic in each batch."""
    warmup: int
    """Steps in which only the critic learns."""
    start: Callable[["Critic", Path, int | None, Any, Crew, Tuning], Any]
    """Makes the value function, a `turnscope.critic.value.Value`: of these settings, the folder of
    the base policy, the episodes in a forward pass, a device, the processes that learn together,
    and how the policy is trained."""


class Tokens(NamedTuple):
    """A batch as the policy is trained on it."""

    ids_BL: Any
    """Prompt and completion, padded on both sides."""
    mask_BL: Any
    """1 for each token, 0 for padding."""
    keep: int
    """Columns of the completions, the last ones."""
