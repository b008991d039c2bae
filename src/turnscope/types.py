"""The nouns of the study: tasks, episodes, turns, budgets, and the protocols of the plug-ins.

An *environment* is a text world. A *policy* says what to do in it. A *rollout* plays one against
the other under a *budget* and yields *episodes*, which are lists of *turns*. Nothing here imports
anything of ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Protocol


class StopReason(StrEnum):
    """Why an episode ended."""

    SUCCESS = "success"
    """The environment declared the task solved."""
    FAILURE = "failure"
    """The environment ended the episode unsolved; no further turn could change that."""
    BUDGET = "budget"
    """All turns of the budget were used."""
    TOKENS = "tokens"
    """All tokens of the budget were used, or the model's context has no room for another turn."""
    ERROR = "error"
    """The environment itself failed. Says nothing about the policy: success is null."""


@dataclass(frozen=True, slots=True)
class Task:
    """One problem."""

    task_id: str
    """Unique within its environment."""
    split: str
    """`train` or `test`; the two share no problem."""
    stratum: str
    """Group within which the bootstrap resamples tasks, such as a map size."""
    cluster: str
    """Common source of several tasks, where at least 30 such sources exist; else `task_id`."""
    payload: dict[str, Any]
    """All that the environment needs to set the problem up; JSON values only."""
    min_turns: int | None
    """Fewest turns in which the problem can be solved; None when unknown."""


class Step(NamedTuple):
    """What an environment answers to an action."""

    observation: str
    """What the policy is told next."""
    reward: float
    """Payment for this turn alone."""
    terminated: bool
    """The episode is over, whatever the budget."""
    success: bool = False
    """The task was solved at this turn; implies `terminated`."""
    valid: bool = True
    """The action could be parsed. An invalid action is a legal, wasted turn."""


class Arm(NamedTuple):
    """One recipe of training, as those who compare arms know it."""

    name: str
    """Key of the config under `arms`; its policies are called `NAME-s0`, `NAME-s1`, ..."""
    algorithm: str
    """A module in `turnscope.algorithms`."""
    told: bool
    """Whether it is trained seeing the turns left."""


class Quality(NamedTuple):
    """How good an action was, on a scale from 0 to 1 that the environment chooses."""

    value: float
    """Of the action taken."""
    best: float
    """Of the best action in the same state with the same number of turns left."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits on an episode. Environments never see it."""

    turns: int
    """T: actions the policy may take, >= 1."""
    turn_tokens: int
    """Tokens the policy may sample in one turn, >= 1."""
    tokens: int | None = None
    """Tokens the policy may sample in the episode; None is no limit."""
    told: bool = False
    """Whether each observation ends with the number of turns left."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One action and what led to it; turns are counted from 0."""

    observation: str
    """What the policy was told before it acted."""
    state_key: str
    """Name of the hidden state before the action."""
    action: str
    """Text of the action."""
    reward: float
    """Payment for this turn alone."""
    valid: bool
    """Whether the environment could parse the action."""
    context_ids: list[int] = field(default_factory=list)
    """Tokens fed to the model since its previous action; empty without a model."""
    action_ids: list[int] = field(default_factory=list)
    """Tokens the model sampled, end-of-turn token included; never re-encoded."""
    logprobs: list[float] = field(default_factory=list)
    """Log-probability (nats) of each sampled token at temperature 1, shape of `action_ids`."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One attempt of one policy at one task."""

    task_id: str
    sample: int
    """Number of the attempt, from 0."""
    seed: int
    """Names the noise of the environment, up to a branch."""
    turns: list[Turn]
    stop: StopReason
    final_observation: str
    """What the environment said after the last action; empty when it failed."""
    final_state_key: str
    """Name of the hidden state after the last action; empty when the environment failed."""
    error: str | None = None
    """One line about the failure of the environment, if it failed."""

    @property
    def success(self) -> bool | None:
        """Whether the task was solved; None when the environment failed."""
        return None if self.stop is StopReason.ERROR else self.stop is StopReason.SUCCESS

    @property
    def tokens(self) -> int:
        """Tokens that the policy sampled."""
        return sum(len(turn.action_ids) for turn in self.turns)

    def spans(self) -> list[tuple[int, int]]:
        """Say where the sampled tokens of each turn lie behind the first observation.

        Returns:
            First token and the one behind the last, for each turn; text of the environment lies
            between turns.
        """
        found, place = [], 0
        for number, turn in enumerate(self.turns):
            start = place + (len(turn.context_ids) if number else 0)
            place = start + len(turn.action_ids)
            found.append((start, place))
        return found


class Environment(Protocol):
    """A text world for one agent.

    It knows nothing of models, tokens or budgets and never counts turns for the policy, so an
    episode played under a large budget also tells what would have happened under every smaller
    one. The noise of turn t is a function of the seed and t alone.
    """

    def reset(self, task: Task, seed: int) -> str:
        """Enter the initial state of the task and return the first observation."""
        ...

    def step(self, action: str) -> Step:
        """Apply an action. Text it cannot parse is a legal turn with an explaining reply."""
        ...

    def state_key(self) -> str:
        """Name the hidden state. Within a task, equal keys mean equal futures."""
        ...

    def reseed(self, seed: int) -> None:
        """Go on from the present state under fresh noise."""
        ...

    def close(self) -> None:
        """Release what `reset` acquired. Calling it twice is safe."""
        ...


@dataclass(slots=True)
class Seat:
    """The place of one running episode, as a policy sees it.

    Policies with a model use `policy_seed` and `history`. Policies without one may also look at
    the environment.
    """

    task: Task
    environment: Environment
    policy_seed: int
    """Names the sampling stream of this episode."""
    turns_left: int
    """Turns of the budget not yet used."""
    history: list[Turn]
    """Turns so far; not empty at the start when the episode continues a replayed prefix."""


@dataclass(frozen=True, slots=True)
class Action:
    """What a policy said in one turn."""

    text: str
    context_ids: list[int] = field(default_factory=list)
    action_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)


class Conversation(Protocol):
    """A policy at work on several seats at once, remembering what was said at each."""

    def act(
        self, rows: Sequence[int], observations: Sequence[str], limits: Sequence[int]
    ) -> Sequence[Action | None]:
        """Answer one observation at each of some seats.

        Args:
            rows: Indices of seats, increasing. A seat left out once is finished for good.
            observations: What each of these seats is told now.
            limits: Most tokens each may sample, >= 1.

        Returns:
            One action for each row; None where the model's context has no room for one, which
            ends the episode.
        """
        ...


class Policy(Protocol):
    """Something that acts: weights with a backend, or a rule."""

    def begin(self, seats: Sequence[Seat]) -> Conversation:
        """Start (or, where a seat has history, continue) one conversation at each seat."""
        ...
