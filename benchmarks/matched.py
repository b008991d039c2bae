"""Time to compare a trained policy with base step by step, and to compute exact qualities.

The comparison is that of the default study: 500 states, 16 actions of each policy, 100 injected
errors, 8 continuations of each, likelihoods of 4 episodes of each of 500 tasks; then all estimates
of them. Both stages run side by side as the workflow runs them, a process with one thread each;
playing the episodes that they start from is not part of it. Policies are those of the study if they
are there, else two small ones made for this.
"""

import json
import resource
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.budget_grid import BUILD, OPTIONS, T_MAX, TURN_TOKENS
from benchmarks.rows import Row, clock, main
from turnscope import base, registry, sampling, tables
from turnscope.environments import frozen_lake
from turnscope.environments.frozen_lake.quality import q_values_of_maps
from turnscope.metrics import COLUMNS, TASKS, Settings
from turnscope.policies.transformers import Policy
from turnscope.stages import tasks as tasks_stage
from turnscope.types import Budget, Task

STUDY = Path(__file__).parent.parent / "results/policies/frozen_lake/nano"
PAIR = {"base": "base", "trained": "grpo-s0"}
EPISODES, BATCH = 8, 512
WHO = {"env": "frozen_lake", "model": "nano", "policy": "grpo-s0", "seed": 1}
PLAYED = {"backend": "transformers", "batch": BATCH}
SIZES = {"states": 500, "per_task": 4, "actions": 16, "injected": 100, "continuations": 8}
SPECS: dict[str, dict[str, Any]] = {
    "matched": WHO
    | PLAYED
    | SIZES
    | {
        "options": {"view": "position"},
        "budget": {"turns": T_MAX, "turn_tokens": TURN_TOKENS},
        "temperature": 1.0,
    },
    "likelihood": WHO | PLAYED | {"episodes": 4},
}
OUTPUTS = {"matched": ("pool", "actions", "continuations"), "likelihood": ("likelihood", "heat")}
SETTINGS = Settings(
    ks=[1, 8], k=8, shares=[j / 10 for j in range(1, 11)], draws=10_000, seed=1, reference="grpo"
)
METRICS = {"step_quality": "actions", "recovery": "continuations", "likelihood": "likelihood"}
MAPS, HORIZON, ROUNDS = 1000, 30, 5
BAR, BAR_QUALITY = 60.0, 2.0


def measure() -> list[Row]:
    """Compare, estimate, and compute exact qualities."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        inputs = _inputs(folder)
        with clock() as stages:
            _run(inputs, folder)
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds, work = {"stages": stages.wall}, spent.ru_utime + spent.ru_stime
        for metric, table in METRICS.items():
            with clock() as time:
                _estimate(metric, table, inputs["tasks"], folder / f"{table}.parquet")
            seconds[metric] = time.wall
        places = len(tables.read(folder / "pool.parquet", "pool", ["place"]))
    total = sum(seconds.values())
    return [
        Row(
            f"one pair step by step, {places} states, two processes",
            "s",
            total,
            bar=f"< {BAR:g} s",
            met=total < BAR,
            details={"seconds": seconds, "processor_seconds_of_stages": work, "sizes": SIZES},
        ),
        _exact(),
    ]


def _inputs(folder: Path) -> dict[str, Path]:
    """Make the tasks, find or make the policies, and play their episodes."""
    inputs = {"tasks": folder / "tasks.parquet"}
    counts = {"train": 3000, "test": 500} | OPTIONS
    spec = {"env": "frozen_lake", "seed": 1, "tasks": counts, "turns": T_MAX}
    tasks_stage.run(spec, {}, inputs)
    known = tables.to_tasks(tables.read(inputs["tasks"], "tasks"))
    for seed, (name, policy) in enumerate(PAIR.items()):
        inputs[name] = _policy(policy, seed, known, folder) / "provenance.json"
        paths = {kind: folder / f"{name}-{kind}.parquet" for kind in ("episodes", "turns")}
        plan = sampling.Plan(
            environment=partial(frozen_lake.Environment, view="position"),
            tasks=[task for task in known if task.split == "test"],
            budget=Budget(T_MAX, TURN_TOKENS),
            episodes=EPISODES,
            batch=BATCH,
            seed=1,
            temperature=1.0,
            who={"env": "frozen_lake", "model": "nano", "policy": policy},
            quality=frozen_lake.step_quality,
        )
        sampling.write([plan], Policy(inputs[name].parent), paths["episodes"], paths["turns"])
        inputs |= {f"{name}_{kind}": path for kind, path in paths.items()}
    return inputs


def _policy(name: str, seed: int, tasks: list[Task], folder: Path) -> Path:
    """Return the folder of the study's policy, or of one that is made now."""
    if (STUDY / name / "model.safetensors").exists():
        return STUDY / name
    spec = {
        "env": "frozen_lake",
        "model": "nano",
        "seed": seed,
        "options": {},
        "budget": {"turns": T_MAX, "turn_tokens": TURN_TOKENS},
        "settings": {"build": BUILD},
    }
    base.make(spec, [task for task in tasks if task.split == "train"], folder / name)
    (folder / name / "provenance.json").write_text("{}")
    return folder / name


def _run(inputs: dict[str, Path], folder: Path) -> None:
    """Run both stages side by side."""
    given = [f"{name}={path}" for name, path in inputs.items()]
    jobs = {}
    for stage, names in OUTPUTS.items():
        made = [f"{name}={folder / name}.parquet" for name in names]
        made.append(f"provenance={folder / stage}.provenance.json")
        command = [sys.executable, "-m", f"turnscope.stages.{stage}"]
        command += ["--spec", json.dumps(SPECS[stage]), "--input", *given, "--output", *made]
        jobs[stage] = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    for stage, job in jobs.items():
        if job.wait():
            raise SystemExit(f"stage {stage} failed")


def _estimate(metric: str, table: str, tasks: Path, rows: Path) -> None:
    registry.load("metrics", metric).estimate(
        tables.read(tasks, "tasks", TASKS), tables.read(rows, table, COLUMNS[table]), SETTINGS
    )


def _exact() -> Row:
    """Compute the exact qualities of many maps under all numbers of turns left."""
    lakes = frozen_lake.tasks(1, train=MAPS, test=0, **OPTIONS)
    maps: dict[str, list[Any]] = {}
    for task in lakes:
        maps.setdefault(task.stratum, []).append(task.payload["map"])
    times = []
    for _ in range(ROUNDS):
        with clock() as time:
            for rows in maps.values():
                q_values_of_maps(rows, 0.2, HORIZON)
        times.append(time)
    wall = statistics.median(time.wall for time in times)
    return Row(
        f"exact qualities of {MAPS} maps x {HORIZON} horizons",
        "s",
        wall,
        bar=f"< {BAR_QUALITY:g} s",
        met=wall < BAR_QUALITY,
        details={"processor_seconds": [time.processor for time in times]},
    )


if __name__ == "__main__":
    main(measure)
