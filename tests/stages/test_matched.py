from pathlib import Path
from typing import Any

import pytest

from turnscope import tables
from turnscope.chat import Renderer
from turnscope.environments import frozen_lake
from turnscope.stages import matched, sample, tasks

TASKS = {"train": 0, "test": 8, "sizes": [3, 4], "frozen": 0.8, "slip": 0.2, "distance": 2}
SPEC: dict[str, Any] = {
    "env": "frozen_lake",
    "model": "nano",
    "policy": "rl-s0",
    "seed": 1,
    "backend": "transformers",
    "options": {"view": "position"},
    "budget": {"turns": 6, "turn_tokens": 4},
    "batch": 64,
    "temperature": 1.0,
    "states": 16,
    "per_task": 4,
    "actions": 4,
    "injected": 6,
    "continuations": 2,
}
NAMES = ("pool", "actions", "continuations")


@pytest.fixture(scope="module")
def inputs(nano_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Episodes of one policy under two names."""
    folder = tmp_path_factory.mktemp("played")
    made = {"tasks": folder / "tasks.parquet"}
    tasks.run({"env": "frozen_lake", "seed": 1, "tasks": TASKS, "turns": 6}, {}, made)
    for name, policy in (("base", "base"), ("trained", "rl-s0")):
        made[name] = nano_folder / "provenance.json"
        made |= {f"{name}_{kind}": folder / f"{name}_{kind}" for kind in ("episodes", "turns")}
        spec = SPEC | {"policy": policy, "tasks": None, "episodes": 6, "turns": [6]}
        outputs = {kind: made[f"{name}_{kind}"] for kind in ("episodes", "turns")}
        sample.run(spec, {"tasks": made["tasks"], "policy": made[name]}, outputs)
    return made


def run(inputs: dict[str, Path], folder: Path, **changes: Any) -> dict[str, Any]:
    """Run the stage; return its tables."""
    outputs = {name: folder / f"{name}.parquet" for name in NAMES}
    matched.run(SPEC | changes, inputs, outputs)
    return {name: tables.read(outputs[name], name) for name in NAMES}


def test_tables_belong_together_and_are_the_same_every_time(inputs, words, tmp_path):
    found = run(inputs, tmp_path / "one")
    pool, actions, continuations = (found[name] for name in NAMES)
    assert pool["injected"].sum() == 6
    assert 8 <= (~pool["injected"]).sum() <= 16
    assert pool["place"].tolist() == [*range(len(pool))]
    assert len(actions) == len(pool) * 2 * 4
    kept = ["task_id", "source", "turn", "left", "errors", "injected", "best", "before"]
    for rows in (actions, continuations):
        assert set(rows["actor"]) == {"base", "trained"}
        known = rows.merge(pool[["place", *kept]], on=["place", *kept])
        assert len(known) == len(rows)
    wrong = pool[(pool["errors"] != "") | pool["injected"]]
    assert set(continuations["place"]) == set(wrong.loc[wrong["best"] > 0, "place"])
    renderer = Renderer(words)
    for one in pool[pool["injected"]].to_dict("records"):
        spoken = [renderer.said(one["actions"][-1]), *map(list, one["action_ids"][:-1])]
        assert list(one["action_ids"][-1]) == spoken[0]
        assert [renderer.text(ids) for ids in spoken[1:]] == list(one["actions"][:-1])
    run(inputs, tmp_path / "two")
    for name in NAMES:
        files = [tmp_path / folder / f"{name}.parquet" for folder in ("one", "two")]
        assert files[0].read_bytes() == files[1].read_bytes()


def test_one_policy_under_two_names_draws_twice(inputs, tmp_path):
    actions = run(inputs, tmp_path, actions=8)["actions"]
    said = [
        actions.loc[actions["actor"] == name, "action"].tolist() for name in ("base", "trained")
    ]
    assert said[0] != said[1]


def test_nothing_is_compared_where_nothing_can_be_said(inputs, tmp_path, monkeypatch):
    monkeypatch.delattr(frozen_lake, "step_quality")
    ungraded = inputs | {"base_turns": tmp_path / "turns", "base_episodes": tmp_path / "episodes"}
    outputs = {name: ungraded[f"base_{name}"] for name in ("episodes", "turns")}
    spec = SPEC | {"policy": "base", "tasks": None, "episodes": 6, "turns": [6]}
    sample.run(spec, {"tasks": inputs["tasks"], "policy": inputs["base"]}, outputs)
    with_errors = run(ungraded, tmp_path)
    pool, actions, continuations = (with_errors[name] for name in NAMES)
    ours = pool[pool["source"] == "base"]
    assert not ours.empty
    assert ours[["best", "before"]].isna().all(axis=None)
    assert actions["quality"].isna().all()
    wrong = ours[(ours["errors"] != "") & ~ours["injected"]]
    assert len(wrong)
    gone_on = continuations[continuations["place"].isin(wrong["place"])]
    assert set(gone_on["place"]) == set(wrong["place"])
    assert gone_on["recovered"].isna().all()
    monkeypatch.delattr(frozen_lake, "ERRORS")
    nobody = inputs | {"base": tmp_path / "nobody/provenance.json"}
    assert all(rows.empty for rows in run(nobody, tmp_path).values())
