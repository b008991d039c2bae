"""Let both policies act in the states of a pool, and go on from its error states.

Both policies meet the same noise of the environment after the prefix; their own draws are
independent. A prefix that does not lead to its recorded states again ends the job.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from turnscope.matched.pair import Pair, best, grader
from turnscope.rollout import Start, in_batches, prefix_of
from turnscope.sampling import Grade
from turnscope.types import Episode, StopReason

State = dict[str, Any]
"""A record of table `pool`."""
PREFIX = ("task_id", "source", "turn", "left", "errors", "injected", "best", "before")
TIE = 1e-9
"""Qualities closer than this are equal."""


def starts(
    pair: Pair, state: State, turns: int, branches: Sequence[int | None] = (None,)
) -> list[Start]:
    """Begin episodes in a state.

    Args:
        pair: Whose state.
        state: A record of table `pool`; where `state_key` is missing, it is not checked.
        turns: Turns of the budget, prefix included.
        branches: Seed of the environment's noise after the prefix, for each episode; None goes on
            as the episode did that led to the state.
    """
    task, budget = pair.tasks[state["task_id"]], replace(pair.budget, turns=turns)
    prefix, key = prefix_of(state), state.get("state_key")
    return [
        Start(task, sample, state["seed"], budget, prefix, branch, key)
        for sample, branch in enumerate(branches)
    ]


def actions(pair: Pair, states: Sequence[State], number: int) -> list[dict[str, Any]]:
    """Let both policies act in every state.

    They are asked for one action under a budget that ends with it, which blind policies cannot see;
    it is graded by the turns that are really left.

    Args:
        pair: The policies.
        states: Records of table `pool`.
        number: G: actions of each policy in each state.

    Returns:
        Records of table `actions`, without those that the environment failed to answer, and those
        for which the model's context had no room.
    """
    grade, rows = grader(pair), []
    for actor, sample, state, episode in _played(pair, states, number, "act"):
        if episode.success is None or len(episode.turns) <= state["turn"]:
            continue
        turn = episode.turns[-1]
        quality = grade(state["task_id"], turn.state_key, turn.action, state["left"])
        rows.append(
            {
                **_who(pair, actor, sample, state),
                **{name: state[name] for name in ("decisive", "visits", "weight")},
                "action": turn.action,
                "valid": turn.valid,
                "quality": quality.value if quality else None,
            }
        )
    return rows


def continuations(pair: Pair, states: Sequence[State], number: int) -> list[dict[str, Any]]:
    """Let both policies go on from error states, with the turns that are left.

    States in which the task can no longer be solved are left out.

    Args:
        pair: The policies.
        states: Records of table `pool`; those without an error are left out, too.
        number: m: continuations of each policy from each state.

    Returns:
        Records of table `continuations`.
    """
    wrong = [state for state in states if state["injected"] or state["errors"]]
    alive = [state for state in wrong if state["best"] is None or state["best"] > 0]
    grade = grader(pair)
    return [
        {
            **_who(pair, actor, sample, state),
            "solved": state["solved"],
            "success": episode.success,
            # A replay that failed may have stopped before the state was reached.
            "turns": max(0, len(episode.turns) - state["turn"]),
            "stop": str(episode.stop),
            "recovered": _recovered(pair, grade, state, episode),
        }
        for actor, sample, state, episode in _played(pair, alive, number, "go on")
    ]


def _played(
    pair: Pair, states: Sequence[State], number: int, what: str
) -> Iterator[tuple[str, int, State, Episode]]:
    """Play from each state: one action, or as many as are left."""
    places, begun = [], []
    for state in states:
        turns = state["turn"] + 1 if what == "act" else pair.budget.turns
        branches = [pair.named(what, state["place"], sample) for sample in range(number)]
        begun += starts(pair, state, turns, branches)
        places += [(sample, state) for sample in range(number)]
    for actor, policy in pair.policies.items():
        batches = in_batches(pair.environment, begun, policy, pair.batch, pair.stream(actor))
        episodes = itertools.chain.from_iterable(batches)
        for (sample, state), episode in zip(places, episodes, strict=True):
            nobody = episode.success is not None and len(episode.turns) <= state["turn"]
            if nobody and episode.stop is not StopReason.TOKENS:
                raise ValueError(
                    f"task {state['task_id']}: nobody acted in state {state['place']}, for the "
                    f"episode ended before it, {episode.stop}"
                )
            yield actor, sample, state, episode


def _recovered(pair: Pair, grade: Grade, state: State, episode: Episode) -> int | None:
    """Count the actions until the best one is again worth what it was before the error.

    Where a quality is of an action by itself, the best one is always worth the same: then count the
    actions until one is no error.
    """
    if getattr(pair.world, "IMMEDIATE", False):
        return _mended(pair, state, episode)
    before = state["before"]
    if before is None:
        return None
    later = episode.turns[state["turn"] :]
    for number, turn in enumerate(later):
        now = best(pair, grade, state["task_id"], turn.state_key, state["left"] - number)
        if now is not None and now >= before - TIE:
            return number
    return len(later) if episode.success else None


def _mended(pair: Pair, state: State, episode: Episode) -> int | None:
    """Count the actions up to the first that meets no definition of an error.

    One that ends the episode unsolved is no recovery, whatever it meets.
    """
    later = episode.turns[state["turn"] :]
    if episode.success is None or not later:
        return None
    keys = [*(turn.state_key for turn in later[1:]), episode.final_state_key]
    if episode.stop is StopReason.FAILURE:
        later, keys = later[:-1], keys[:-1]
    for number, (turn, key) in enumerate(zip(later, keys, strict=True), 1):
        if not pair.world.errors(pair.tasks[state["task_id"]], turn, key, state["left"] - number):
            return number
    return None


def _who(pair: Pair, actor: str, sample: int, state: State) -> dict[str, Any]:
    kept = {name: state[name] for name in PREFIX}
    return {**pair.who, "actor": actor, "place": state["place"], "sample": sample, **kept}
