"""One episode while it is played: what the environment answers, and when it is over.

Environments are written by others, and run what models say. Whatever one of them raises or answers,
and if it answers nothing at all, the episode is data: it ends as an error with one line about it.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from turnscope import draws, guard
from turnscope.types import (
    Action,
    Budget,
    Environment,
    Episode,
    Seat,
    Step,
    StopReason,
    Task,
    Turn,
)

log = logging.getLogger(__name__)

FLAGS = {bool, np.bool_}
OBSERVATION, STATE_KEY = "observation", "state key"
MOST = 1_000_000
"""Characters of an observation or a state key: far more than any model reads."""
HIGHEST = 1e6
"""Largest reward of a turn, as of one below 0: sums of them stay numbers."""


@dataclass(frozen=True, slots=True)
class Start:
    """Where one episode begins, and how long it may go on."""

    task: Task
    sample: int
    """Number of the attempt at this task."""
    seed: int
    """Seed of the environment's noise."""
    budget: Budget
    """Limits, counted from the first turn of the prefix."""
    prefix: tuple[Turn, ...] = ()
    """Turns to replay before the policy acts; they are part of the episode."""
    branch: int | None = None
    """Seed of the noise after the prefix; None goes on under `seed`."""
    state_key: str | None = None
    """Hidden state to which the prefix must lead; None is not checked."""


@dataclass(slots=True)
class Game:
    """One episode while it is played."""

    start: Start
    make: Callable[[], Environment]
    call: guard.Call
    environment: Any = None
    turns: list[Turn] = field(default_factory=list)
    tokens: int = 0
    observation: str = ""
    state_key: str = ""
    stop: StopReason | None = None
    error: str | None = None

    @property
    def turns_left(self) -> int:
        """Return how many turns of the budget were not used."""
        return self.start.budget.turns - len(self.turns)

    def begin(self) -> None:
        """Enter the initial state and replay the prefix."""
        try:
            self.environment = self.call(self.make)
            told, key = self.call(self._reset)
            self.observation, self.state_key = _text(told, OBSERVATION), _text(key, STATE_KEY)
        except Exception as failure:  # noqa: BLE001 - whatever an environment raises is data
            self.fail(failure)
            return
        for turn in self.start.prefix:
            self._replay(turn)
        self._arrived()
        if self.start.branch is not None and self.stop is None:
            try:
                self.call(self.environment.reseed, self.start.branch)
            except Exception as failure:  # noqa: BLE001
                self.fail(failure)

    def _reset(self) -> tuple[Any, Any]:
        told = self.environment.reset(self.start.task, self.start.seed)
        return told, self.environment.state_key()

    def _step(self, action: str) -> tuple[Any, Any]:
        step = self.environment.step(action)
        return step, self.environment.state_key()

    def _replay(self, turn: Turn) -> None:
        """Play a turn of the prefix again, unless the environment has failed."""
        if self.stop is StopReason.ERROR:
            return
        where = f"task {self.start.task.task_id}: replay of turn {len(self.turns)}"
        if self.stop is not None:
            why = f"{where} is impossible: the episode ended before it, {self.stop}"
            if self.stop in (StopReason.BUDGET, StopReason.TOKENS):
                raise ValueError(why)
            self._strayed(why)
        elif turn.state_key != self.state_key:
            self._strayed(
                f"{where} reached state {self.state_key!r}, recorded was {turn.state_key!r}"
            )
        else:
            self.play(Action(turn.action, turn.context_ids, turn.action_ids, turn.logprobs))

    def _arrived(self) -> None:
        """Check that the prefix led to where it should, unless the environment has failed."""
        wanted = self.start.state_key
        if wanted is None or self.stop is StopReason.ERROR:
            return
        where = f"task {self.start.task.task_id}: replay of {len(self.turns)} turns"
        if self.stop in (StopReason.SUCCESS, StopReason.FAILURE):
            self._strayed(f"{where} ended the episode, {self.stop}; recorded was {wanted!r}")
        elif self.state_key != wanted:
            self._strayed(f"{where} reached state {self.state_key!r}, recorded was {wanted!r}")

    def _strayed(self, why: str) -> None:
        """Refuse a replay that led elsewhere: it is a fault, unless a program may be the cause."""
        if not getattr(self.environment, "untrusted", False):
            raise ValueError(why)
        self.fail(ValueError(why))

    def seat(self, stream: int) -> Seat:
        """Describe the place of this episode to the policy."""
        named = self.start.seed if self.start.branch is None else self.start.branch
        return Seat(
            self.start.task,
            self.environment,
            draws.mix(named, stream),
            self.turns_left,
            list(self.turns),
        )

    def told(self) -> str:
        """Return the observation as the policy gets it."""
        if not self.start.budget.told:
            return self.observation
        return f"{self.observation}\nturns left {self.turns_left}"

    def limit(self) -> int:
        """Return how many tokens the policy may sample in this turn."""
        budget = self.start.budget
        if budget.tokens is None:
            return budget.turn_tokens
        return min(budget.turn_tokens, budget.tokens - self.tokens)

    def play(self, action: Action) -> None:
        """Apply one action and decide whether the episode is over."""
        try:
            answer, key = self.call(self._step, action.text)
            step, key = _checked(answer), _text(key, STATE_KEY)
        except Exception as failure:  # noqa: BLE001 - whatever an environment raises is data
            self.fail(failure, f" at the action {action.text[: guard.LONGEST]!r}")
            return
        self.turns.append(
            Turn(
                self.told(),
                self.state_key,
                action.text,
                step.reward,
                step.valid,
                action.context_ids,
                action.action_ids,
                action.logprobs,
            )
        )
        self.tokens += len(action.action_ids)
        self.observation, self.state_key = step.observation, key
        budget = self.start.budget
        if step.terminated:
            self.stop = StopReason.SUCCESS if step.success else StopReason.FAILURE
        elif self.turns_left <= 0:
            self.stop = StopReason.BUDGET
        elif budget.tokens is not None and self.tokens >= budget.tokens:
            self.stop = StopReason.TOKENS

    def outgrow(self) -> None:
        """End where the model's context has no room for another turn."""
        self.stop = StopReason.TOKENS
        log.info(
            "task %s: the model's context is full after %d turns",
            self.start.task.task_id,
            len(self.turns),
        )

    def fail(self, failure: Exception, when: str = "") -> None:
        """End without a result: the environment is at fault."""
        self.stop = StopReason.ERROR
        self.error = f"{guard.described(failure)}{when}"[: guard.LONGEST]

    def close(self) -> None:
        """Release the environment; a failure to do so cannot change what was played."""
        try:
            if self.environment is not None:
                self.call(self.environment.close)
        except Exception as failure:  # noqa: BLE001
            log.warning(
                "task %s: close failed: %s",
                self.start.task.task_id,
                guard.described(failure),
            )

    def episode(self) -> Episode:
        """Return what was played."""
        assert self.stop is not None, "an episode ends before the rollout returns"
        return Episode(
            self.start.task.task_id,
            self.start.sample,
            self.start.seed,
            self.turns,
            self.stop,
            "" if self.error else self.observation,
            "" if self.error else self.state_key,
            self.error,
        )


def _checked(step: Any) -> Step:
    """Return what `step` answered, in the types that it promises.

    Raises:
        TypeError: Something is of another type.
        ValueError: Something has no legal value.
    """
    if not isinstance(step, Step):
        raise TypeError(f"the answer is {_shown(step)}; legal is a Step")
    told, reward = _text(step.observation, OBSERVATION), step.reward
    flags = step[2:]
    if set(map(type, flags)) - FLAGS:
        raise TypeError(f"flags are {_shown(flags)}; legal are True and False")
    if not isinstance(reward, float | Real):
        raise TypeError(f"reward is {_shown(reward)}; legal is a number")
    if not abs(reward) <= HIGHEST:  # neither is NaN
        raise ValueError(f"reward is {reward}; legal is up to {HIGHEST:g}, up or down")
    if step.success and not step.terminated:
        raise ValueError("success was declared without an end of the episode")
    return Step(told, float(reward), *map(bool, flags))


def _text(value: Any, what: str) -> str:
    """Return a text that can be read by a model and stored.

    Raises:
        TypeError: It is no text.
        ValueError: It is too long, or no Unicode.
    """
    if not isinstance(value, str):
        raise TypeError(f"{what} is {_shown(value)}; legal is a text")
    if len(value) > MOST:
        raise ValueError(f"{what} has {len(value)} characters; legal are {MOST}")
    value.encode()
    return value


def _shown(value: Any) -> str:
    return f"{type(value).__name__} {value!r:.100}"
