"""A few episodes of each artifact come out again when its policy plays them again.

Draws are named, so who has the weights can say every token again: these episodes are of this
policy, with these tokens, at these log-probabilities, or they are not. Rounding may once in a
million tokens choose another one; one such episode in an artifact is no finding. Policies that rest
on a loaded model, or on another engine than this process's, are left out: elsewhere they may round
otherwise in every number. So are parts of sets of episodes, for the sets are looked at.
"""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from transformers.utils import logging

from turnscope import provenance, registry, sampling
from turnscope.audits import _records, _weights, integrity
from turnscope.audits._played import Played, artifacts, load, named
from turnscope.audits._recorded import chosen
from turnscope.audits._results import Finding, Outcome, Record, Results, Settings, each
from turnscope.records import DIARY, MARK, files
from turnscope.rollout import Start, rollout
from turnscope.types import Budget, Episode, StopReason

FEW = 4
"""Episodes of each artifact."""
BACKEND = "transformers"
APART = 0.01
"""What log-probabilities of a token may differ by, nats; rounding is a hundredth of it."""
WEIGHTS = "model.safetensors"
CODE = "auto_map"
"""What names modules that come with a model."""

Row = dict[str, Any]


def check(results: Results, settings: Settings) -> Outcome:
    """Play a few episodes of each artifact again."""
    counts: list[int] = []
    some = [one for one in artifacts(results) if one[0].spec.get("backend") == BACKEND]
    mine = [one for one in some if not (one[0].is_part or results.loads(one[0]))]
    logging.disable_progress_bar()
    few = replace(settings, episodes=FEW)
    found = each(mine, lambda one: _artifact(results, load(results, one[0]), few, counts))
    return Outcome(sum(counts), "episodes", found)


def _artifact(
    results: Results, played: Played, settings: Settings, counts: list[int]
) -> Iterator[Finding]:
    lengths = played.heads["turns"].to_numpy(np.int64)
    if (lengths < 0).any() or len(played.turns) != lengths.sum():
        yield Finding("turns", played.path, "its turns are not those of table turns beside it")
        return
    folder = _trusted(results, played.record)
    places = chosen(settings, f"resample {played.record.mark}", len(lengths))
    counts.append(len(places))
    begins = lengths.cumsum() - lengths
    limits = [*played.heads[["budget", "told", "temperature"]].itertuples(index=False, name=None)]
    doubts: list[str] = []
    for (turns, told, heat), some in itertools.groupby(places, key=limits.__getitem__):
        rows = [*some]
        heads: Any = played.heads.iloc[rows].to_dict("records")
        budget = Budget(**{**played.spec["budget"], "turns": int(turns), "told": bool(told)})
        made = _play(played, heads, budget, float(heat), folder)
        for row, head, episode in zip(rows, heads, made, strict=True):
            body = played.turns.slice(int(begins[row]), int(lengths[row])).to_pylist()
            why, sure = _other(body, episode)
            if episode.error:  # what it failed at may have nothing to do with the policy
                continue
            if head["stop"] == StopReason.ERROR:
                why, sure = why or "the environment does not fail", False
            if sure:
                yield Finding("resample", played.path, f"{named(head)}: {why}")
            elif why:
                doubts.append(f"{named(head)}: {why}")
    if len(doubts) > 1:
        for doubt in doubts:
            yield Finding("resample", played.path, doubt)


def _trusted(results: Results, record: Record) -> Path:
    """Return the folder of the policy, if what is in it is what its record speaks for.

    Raises:
        ValueError: There is something else in it, or something that runs when it is loaded.
    """
    mark = str(record.input("policy"))
    maker = next((one for one in results.records if one.mark == mark), None)
    if maker is None:
        raise ValueError(f"{mark} is no record of a policy")
    folder = results.place(mark).parent
    spoken = {file.path for file in maker.outputs}
    for file in maker.outputs:
        if results.sha256(file.path) != file.sha256 or file.path.endswith(integrity.RUN):
            raise ValueError(f"{file.path} is not what its record speaks for, so it is not loaded")
    for path in files(folder):
        inside = path.relative_to(folder).as_posix()
        name = f"{mark.rpartition('/')[0]}/{inside}"
        if name not in spoken and inside not in (MARK, DIARY):
            raise ValueError(f"no record speaks for {name}, so nothing beside it is loaded")
        if path.suffix == ".json" and CODE in provenance.canonical(_records.loads(path)):
            raise ValueError(f"{name} names code to run ({CODE}), so nothing beside it is loaded")
    _weights.check(folder / WEIGHTS)
    return folder


def _play(
    played: Played, heads: list[Row], budget: Budget, temperature: float, folder: Path
) -> list[Episode]:
    world = registry.load("environments", played.spec["env"])
    policy = registry.load("policies", BACKEND).Policy(folder, temperature=temperature)
    policy.model.to("cpu")  # where policies that were built here are played
    starts = [
        Start(played.tasks[head["task_id"]], int(head["sample"]), int(head["seed"]), budget)
        for head in heads
    ]
    who = {name: played.spec[name] for name in ("env", "model", "policy")}
    make = partial(world.Environment, **played.spec["options"])
    plan = sampling.Plan(make, [], budget, 1, len(heads), played.spec["seed"], temperature, who)
    return rollout(make, starts, policy, sampling.stream(plan))


def _other(then: list[Row], now: Episode) -> tuple[str | None, bool]:
    """Say what the policy says otherwise, and whether rounding cannot be why."""
    for number, (old, new) in enumerate(zip(then, now.turns, strict=False)):
        if old["context_ids"] != new.context_ids:
            return f"turn {number}: it was fed other tokens", True
        pairs = [*zip(old["action_ids"], new.action_ids, strict=False)]
        same = next((at for at, (a, b) in enumerate(pairs) if a != b), len(pairs))
        gaps = np.abs(np.subtract(old["logprobs"][:same], new.logprobs[:same]))
        if gaps.max(initial=0.0) > APART:
            return f"turn {number}: log-probabilities are {gaps.max():.3g} nats apart", True
        if old["action_ids"] != new.action_ids:
            return f"turn {number}: the policy says {new.action!r}, not {old['action']!r}", False
        if old["action"] != new.action:
            return f"turn {number}: these tokens say {new.action!r}", True
    return (None, False) if len(then) == len(now.turns) else ("it is of another length", False)
