"""Make error states by putting one error into a clean prefix.

An action that is worse than the best, any of them equally likely, takes the place of what the
policy said at a turn. Neither policy chose it, and nobody chose the state for how a policy fares
there. Prefixes after which the episode is over, its tokens are used up, or the task can no longer
be solved, are left out: they are the same for both policies, so this favours neither.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from turnscope.matched.pair import Pair, best, decisive, grader
from turnscope.matched.play import starts
from turnscope.matched.pool import codes, distinct, draw
from turnscope.matched.visits import Visits, errors
from turnscope.rollout import rollout
from turnscope.sampling import Grade
from turnscope.types import Episode, StopReason

SIDE_BY_SIDE = 32
"""Prefixes replayed at once, at most: no more are looked for than are likely to be needed."""
TRIED = 4
"""States of a task that are tried, at most, until one is found."""


def inject(pair: Pair, sources: Sequence[Visits], number: int) -> list[dict[str, Any]]:
    """Put errors into prefixes of either policy.

    Args:
        pair: Whose states. If its environment knows no mistakes, none are made.
        sources: Visits of both policies; half of the prefixes come from each.
        number: How many, at most; from a source at most one of each task.

    Returns:
        Records of table `pool` without `place`.
    """
    if not hasattr(pair.world, "mistakes"):
        return []
    grade = grader(pair)
    return [
        record
        for visits in sources
        for record in itertools.islice(_made(pair, visits, grade), number // len(sources))
    ]


def _made(pair: Pair, visits: Visits, grade: Grade) -> Iterator[dict[str, Any]]:
    """Yield error states of different tasks, in random order."""
    done: set[str] = set()
    drafts = _drafts(pair, visits)
    while batch := list(itertools.islice(drafts, min(pair.batch, SIDE_BY_SIDE))):
        # The prefix uses the whole budget, so nobody is asked to act.
        begun = [one for draft in batch for one in starts(pair, draft, draft["turn"])]
        played = rollout(pair.environment, begun, pair.policies["base"])
        for draft, episode in zip(batch, played, strict=True):
            most = pair.budget.tokens
            spent = most is not None and episode.tokens >= most
            if draft["task_id"] not in done and episode.stop is StopReason.BUDGET and not spent:
                record = draft | _judged(pair, grade, draft, episode)
                if record["best"] is None or record["best"] > 0:
                    done.add(draft["task_id"])
                    yield record


def _drafts(pair: Pair, visits: Visits) -> Iterator[dict[str, Any]]:
    """Yield clean prefixes with an error behind them, in random order."""
    random = pair.random("injected", visits.source)
    found = distinct(visits, random)
    found = found[found["left"] > 1].reset_index(drop=True)
    tried = draw(codes(found, ["task_id"]), TRIED, random).chosen_M
    for row in random.permutation(found["row"].to_numpy()[tried]).tolist():
        luck, at = random.random(), visits.at(row)
        options = pair.world.mistakes(pair.tasks[at["task_id"]], at["state_key"], at["left"])
        way = [*range(row - at["turn"] + 1, row + 1)]
        if options and not any(errors(pair, visits, way)):
            yield _draft(pair, visits, row, options[int(luck * len(options))])


def _draft(pair: Pair, visits: Visits, row: int, error: str) -> dict[str, Any]:
    """Put an error in at a visit; where it leads is not known yet."""
    at, kept = visits.at(row), visits.prefix(row)
    renderer: Any = getattr(pair.policies[visits.source], "renderer", None)
    fed = visits.tokens["context_ids"].iloc[at["file_row"]]
    return {
        **pair.who,
        **{name: at[name] for name in ("task_id", "sample", "seed")},
        "source": visits.source,
        "turn": at["turn"] + 1,
        "left": at["left"] - 1,
        "injected": True,
        "state_keys": [*kept["state_keys"], at["state_key"]],
        "actions": [*kept["actions"], error],
        "context_ids": [*kept["context_ids"], fed],
        "action_ids": [*kept["action_ids"], renderer.said(error) if renderer else []],
    }


def _judged(pair: Pair, grade: Grade, draft: dict[str, Any], episode: Episode) -> dict[str, Any]:
    """Say where the error led."""
    task_id, key, left = draft["task_id"], episode.final_state_key, draft["left"]
    judge: Any = getattr(pair.world, "errors", None)
    met = judge(pair.tasks[task_id], episode.turns[-1], key, left) if judge else []
    return {
        "state_key": key,
        "errors": " ".join(met),
        "best": best(pair, grade, task_id, key, left),
        "before": best(pair, grade, task_id, draft["state_keys"][-1], left + 1),
        "decisive": decisive(pair, task_id, key, left),
        "solved": None,
        "visits": None,
        "weight": None,
    }
