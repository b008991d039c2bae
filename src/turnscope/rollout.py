"""The one loop that plays episodes: for base sampling, training, matched states, continuations."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from turnscope import draws
from turnscope.types import (
    Action,
    Budget,
    Environment,
    Episode,
    Policy,
    Seat,
    StopReason,
    Task,
    Turn,
)

log = logging.getLogger(__name__)


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


def prefix_of(state: Mapping[str, Any]) -> tuple[Turn, ...]:
    """Rebuild the turns before a recorded state, to be replayed.

    Args:
        state: A record of table `states` or `pool`; what the environment said before each turn is
            not in it, and is found by replaying.
    """
    kept = (state[name] for name in ("state_keys", "actions", "context_ids", "action_ids"))
    return tuple(
        Turn("", key, action, 0.0, True, list(map(int, fed)), list(map(int, said)))
        for key, action, fed, said in zip(*kept, strict=True)
    )


def rollout(
    make_environment: Callable[[], Environment],
    starts: Sequence[Start],
    policy: Policy,
    stream: int = 0,
) -> list[Episode]:
    """Play one episode from each start, in lock-step.

    Every round asks the policy once, for all unfinished episodes, so that a sampler always sees
    the widest batch. An environment that raises ends its own episode and no other: that failure
    is data. A policy that raises ends the call: that failure is a broken job.

    Args:
        make_environment: Makes one environment; called once for each start.
        starts: Where the episodes begin.
        policy: Acts.
        stream: Names the policy's draws: equal streams give equal episodes, different streams
            give independent actions under the same noise of the environment.

    Returns:
        One episode for each start, in the same order.

    Raises:
        ValueError: A prefix does not lead to the states it records, or goes on behind the end.
    """
    with ExitStack() as stack:
        games = [_Game(start, make_environment) for start in starts]
        for game in games:
            stack.callback(game.close)
            game.begin()
        seats = [game.seat(stream) for game in games]
        conversation = policy.begin(seats)
        rows = [row for row, game in enumerate(games) if game.stop is None]
        while rows:
            for row in rows:
                seats[row].turns_left = games[row].turns_left
            actions = conversation.act(
                rows, [games[row].told() for row in rows], [games[row].limit() for row in rows]
            )
            _ahead([(games[row], action) for row, action in zip(rows, actions, strict=True)])
            for row, action in zip(rows, actions, strict=True):
                games[row].play(action)
            rows = [row for row in rows if games[row].stop is None]
    return [game.episode() for game in games]


def in_batches(
    make_environment: Callable[[], Environment],
    starts: Sequence[Start],
    policy: Policy,
    size: int,
    stream: int = 0,
) -> Iterator[list[Episode]]:
    """Play some episodes side by side, then the next ones, so that memory holds one batch.

    Args:
        make_environment: See `rollout`, as for the others.
        starts: Where the episodes begin.
        policy: Acts.
        size: Episodes played side by side, >= 1.
        stream: Names the policy's draws.

    Yields:
        The episodes of each batch, in order of their starts.
    """
    for at in range(0, len(starts), size):
        yield rollout(make_environment, starts[at : at + size], policy, stream)


def _ahead(moves: Sequence[tuple["_Game", Action]]) -> None:
    """Show an environment all actions of a round, if it can prepare for several at a time."""
    prepare = getattr(moves[0][0].environment, "ahead", None)
    if prepare is None:
        return
    try:
        prepare([(game.environment, action.text) for game, action in moves])
    except Exception as failure:  # noqa: BLE001 - each episode will meet it by itself
        log.warning("no actions were prepared: %s", failure)


@dataclass(slots=True)
class _Game:
    """One episode while it is played."""

    start: Start
    make: Callable[[], Environment]
    environment: Any = None
    turns: list[Turn] = field(default_factory=list)
    tokens: int = 0
    observation: str = ""
    state_key: str = ""
    stop: StopReason | None = None
    error: str | None = None

    @property
    def turns_left(self) -> int:
        return self.start.budget.turns - len(self.turns)

    def begin(self) -> None:
        """Enter the initial state and replay the prefix."""
        try:
            self.environment = self.make()
            self.observation = self.environment.reset(self.start.task, self.start.seed)
            self.state_key = self.environment.state_key()
        except Exception as failure:  # noqa: BLE001 - whatever an environment raises is data
            self._fail(failure)
            return
        for turn in self.start.prefix:
            self._replay(turn)
        self._arrived()
        if self.start.branch is not None and self.stop is None:
            try:
                self.environment.reseed(self.start.branch)
            except Exception as failure:  # noqa: BLE001
                self._fail(failure)

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
        self._fail(ValueError(why))

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
            step = self.environment.step(action.text)
            if step.success and not step.terminated:
                raise ValueError("success was declared without an end of the episode")
            key = self.environment.state_key()
        except Exception as failure:  # noqa: BLE001 - whatever an environment raises is data
            self._fail(failure, f" at the action {action.text!r}")
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

    def _fail(self, failure: Exception, when: str = "") -> None:
        self.stop = StopReason.ERROR
        self.error = " ".join(f"{type(failure).__name__}: {failure}{when}".split())[:500]

    def close(self) -> None:
        """Release the environment; a failure to do so cannot change what was played."""
        try:
            if self.environment is not None:
                self.environment.close()
        except Exception as failure:  # noqa: BLE001
            log.warning("task %s: close failed: %s", self.start.task.task_id, failure)

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
