"""Score what base and a trained policy said under both of them.

spec: `env`, `model`, `policy` (the trained one), `seed`, `backend`, `episodes` (of each test task),
`batch` (most tokens of a forward pass).
inputs: `base` and `trained` (their policies), `base_episodes`, `base_turns`, `trained_episodes`,
`trained_turns` (blind, under the largest budget). outputs: `likelihood`, `heat`.
"""

from pathlib import Path
from typing import Any

import pandas as pd

from turnscope import likelihood, registry, tables
from turnscope.stages import _job

BACKEND = "transformers"
HEADS = ["task_id", "sample", "temperature", "turns", "success"]
TURNS = ["task_id", "sample", "turn", "context_ids", "action_ids", "logprobs"]


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write tables `likelihood` and `heat`."""
    if spec["backend"] != BACKEND:
        raise ValueError(f"backend {spec['backend']!r} scores no tokens; legal is {BACKEND!r}")
    backend = registry.load("policies", BACKEND)
    # In 32 bits, whatever they were played in: differences between policies are small.
    base, trained = (
        backend.Policy(inputs[actor].parent, dtype="float32").model for actor in ("base", "trained")
    )
    played = {actor: _played(actor, spec, inputs) for actor in ("base", "trained")}
    rows, heat = likelihood.compare(base, trained, played, spec["batch"])
    who = {name: spec[name] for name in ("env", "model", "policy")}
    for table, found in (("likelihood", rows.assign(**who)), ("heat", [heat | who])):
        tables.write(tables.conform(found, table), outputs[table], table)


def _played(actor: str, spec: dict[str, Any], inputs: dict[str, Path]) -> pd.DataFrame:
    episodes = tables.read(inputs[f"{actor}_episodes"], "episodes", HEADS)
    turns = tables.read(inputs[f"{actor}_turns"], "turns", TURNS)
    return likelihood.chosen(episodes, turns, spec["episodes"])


if __name__ == "__main__":
    _job.main(run)
