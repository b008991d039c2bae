"""Episodes come out again when their actions are played again in their environment.

A sample of the episodes of each artifact goes through the one loop that plays, with the recorded
actions in place of a policy: every observation, reward, hidden state and quality must be the
recorded one, and so must the end. States that were chosen from episodes must be reached again, and
the actions tried there must be as good as it says. Of an episode whose environment failed, only
what was before the failure can be compared.
"""

import dataclasses
import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from turnscope import registry, sampling, tables
from turnscope.audits import _prefixes
from turnscope.audits._played import Played, artifacts, load, named
from turnscope.audits._recorded import Recorded, attempts, chosen, differing
from turnscope.audits._results import Finding, Outcome, Results, Settings, each
from turnscope.rollout import Start, rollout
from turnscope.types import Budget, Episode, Quality, StopReason, Turn

BATCH = 256
"""Episodes played side by side."""
SAID = [one.name for one in dataclasses.fields(Turn)]
LIMITS = ("budget", "told", "temperature")
"""What episodes that are played side by side share."""

Row = dict[str, Any]


def check(results: Results, settings: Settings) -> Outcome:
    """Play a sample of all recorded episodes and states again."""
    counts: list[int] = []
    found = each(artifacts(results), lambda one: _episodes(load(results, one[0]), settings, counts))
    found += _prefixes.check(results, settings, counts)
    return Outcome(sum(counts), "episodes and states", found)


def _episodes(played: Played, settings: Settings, counts: list[int]) -> Iterator[Finding]:
    lengths = played.heads["turns"].to_numpy(np.int64)
    if (lengths < 0).any() or len(played.turns) != lengths.sum():
        yield Finding("turns", played.path, "its turns are not those of table turns beside it")
        return
    places = chosen(settings, played.record.mark, len(lengths))
    counts.append(len(places))
    begins = lengths.cumsum() - lengths
    limits = played.heads[[*LIMITS]].itertuples(index=False, name=None)
    for _, some in itertools.groupby(places, key=list(limits).__getitem__):
        equal = list(some)
        for at in range(0, len(equal), BATCH):
            batch = equal[at : at + BATCH]
            heads: Any = played.heads.iloc[batch].to_dict("records")
            bodies = [
                played.turns.slice(int(begins[place]), int(lengths[place])).to_pylist()
                for place in batch
            ]
            yield from _batch(played, heads, bodies)


def _batch(played: Played, heads: list[Row], bodies: list[list[Row]]) -> Iterator[Finding]:
    """Play episodes of one budget again; once more if programs may be why one differs."""
    world = registry.load("environments", played.spec["env"])
    rows, why = list(range(len(heads))), {}
    for _ in range(attempts(world)):
        some = [heads[row] for row in rows]
        made = _made(played, some, [bodies[row] for row in rows])
        why = {
            row: found
            for row, (head, body) in zip(rows, made, strict=True)
            if (found := _other(heads[row], bodies[row], head, body))
        }
        if not (rows := [*why]):
            return
    for row, found in why.items():
        yield Finding("replay", played.path, f"{named(heads[row])}: {found}")


def _made(
    played: Played, heads: list[Row], bodies: list[list[Row]]
) -> Iterator[tuple[Row, list[Row]]]:
    """Play episodes again and lay each out as a row of `episodes` and its rows of `turns`."""
    world = registry.load("environments", played.spec["env"])
    limits = {"turns": int(heads[0]["budget"]), "told": bool(heads[0]["told"])}
    budget = Budget(**{**played.spec["budget"], **limits})
    starts, said = [], []
    for head, body in zip(heads, bodies, strict=True):
        if head["task_id"] not in played.tasks:
            raise ValueError(f"task {head['task_id']} is no test task")
        task = played.tasks[head["task_id"]]
        starts.append(Start(task, int(head["sample"]), int(head["seed"]), budget))
        said.append([Turn(*(row[name] for name in SAID)) for row in body])
    make = partial(world.Environment, **played.spec["options"])
    episodes = rollout(make, starts, Recorded(said))
    judge: Any = getattr(world, "step_quality", None)
    grade = judge and sampling.grader(judge, played.tasks)

    def quality(episode: Episode, number: int) -> Quality | None:
        turn = episode.turns[number]
        return grade(episode.task_id, turn.state_key, turn.action, budget.turns - number)

    made_heads, made_turns = tables.from_episodes(
        episodes,
        budget=budget.turns,
        told=budget.told,
        temperature=heads[0]["temperature"],
        quality=quality if grade else None,
        **{name: str(played.spec[name]) for name in ("env", "model", "policy")},
    )
    rows = iter(made_turns.to_pylist())
    for head, episode in zip(made_heads.to_pylist(), episodes, strict=True):
        yield head, list(itertools.islice(rows, len(episode.turns)))


def _other(then: Row, body: list[Row], now: Row, again: list[Row]) -> str | None:
    """Say what came out otherwise; None if nothing did."""
    failed = then["stop"] == StopReason.ERROR
    for number, (old, new) in enumerate(zip(body, again, strict=False)):
        names = [name for name in new if not (failed and name == "success")]
        if other := differing(old, new, names):
            return f"turn {number}: {other}"
    if failed and (len(again) == len(body) or now["stop"] == StopReason.ERROR):
        return None  # what failed then may not fail again, or may once more
    if len(again) != len(body):
        end = " ".join(filter(None, [now["stop"], now["error"]]))
        return f"it is {len(again)} turns long, recorded were {len(body)}; its end: {end}"
    other = differing(then, now, [*now])
    return f"end: {other}" if other else None
