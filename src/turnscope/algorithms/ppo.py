"""PPO: full budget, outcome reward, credit by a learned value function.

Source:
    Schulman et al. 2017, arXiv:1707.06347, and 2016, arXiv:1506.02438; over the tokens of the
    policy alone, or over turns, as in RAGEN and VAGEN.
    Differs: a batch is used for one update of the policy, as by every arm.
"""

from pathlib import Path
from typing import Any

from turnscope.algorithms._arm import Algorithm, full, outcome
from turnscope.crew import Crew
from turnscope.critic import LEVELS, Critic
from turnscope.tuning import Tuning


def make(
    *,
    level: str = "token",
    discount: float = 1.0,
    trace: float = 1.0,
    learning_rate: float = 1e-3,
    clip: float = 0.5,
    epochs: int = 2,
    warmup: int = 5,
) -> Algorithm:
    """Make the arm.

    Args:
        level: Whether a value is predicted before every `token` or before every `turn`.
        discount: Gamma, for each step at that level. 1 values what is measured, success in time.
        trace: Lambda. 1, as verl and RAGEN have it, keeps the credit right whatever the critic
            believes; below 1, what the critic of a short run gets wrong enters the gradient, and
            payment at the end fades before it reaches the first tokens.
        learning_rate: Of the critic; the default fits a network of the size of `nano`, one of
            billions of parameters wants 1e-5.
        clip: Farthest that a value may move in one batch before its loss stops falling.
        epochs: Updates of the critic in each batch; `clip` acts from the second on.
        warmup: Steps in which only the critic learns.

    Raises:
        ValueError: An option is out of range.
    """
    if level not in LEVELS:
        raise ValueError(f"level is {level!r}; legal is {', '.join(LEVELS)}")
    if not 0 < discount <= 1:
        raise ValueError(f"discount is {discount}; legal is above 0 and at most 1")
    if not 0 <= trace <= 1:
        raise ValueError(f"trace is {trace}; legal is from 0 to 1")
    for name, value in (("learning_rate", learning_rate), ("clip", clip)):
        if value <= 0:
            raise ValueError(f"{name} is {value}; legal is above 0")
    for name, value, lowest in (("epochs", epochs, 1), ("warmup", warmup, 0)):
        if value < lowest:
            raise ValueError(f"{name} is {value}; legal is at least {lowest}")
    critic = Critic(
        level=level,
        discount=discount,
        trace=trace,
        learning_rate=learning_rate,
        clip=clip,
        epochs=epochs,
        warmup=warmup,
        start=_start,
    )
    return Algorithm(turns=full, rewards=outcome, credit=critic)


def _start(
    settings: Critic, base: Path, micro: int | None, device: Any, crew: Crew, tuning: Tuning
) -> Any:
    # here, so that an edit of the network trains no other arm anew, and a plan needs no torch
    from turnscope.critic.value import Value

    return Value(settings, base, micro, device, crew, tuning)
