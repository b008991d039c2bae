import pytest

from turnscope import tables
from turnscope.stages import likelihood, sample, tasks

TASKS = {"train": 1, "test": 4, "sizes": [3], "frozen": 0.8, "slip": 0.0, "distance": 2}
BUDGET = {"turn_tokens": 4, "tokens": None, "told": False}
WHO = {"env": "frozen_lake", "model": "nano", "seed": 1, "backend": "transformers"}
PLAYED = {
    "options": {"view": "position"},
    "budget": BUDGET,
    "turns": [4],
    "tasks": None,
    "episodes": 3,
    "batch": 8,
    "temperature": 1.0,
}
SPEC = {**WHO, "policy": "grpo-s0", "episodes": 2, "batch": 64}


@pytest.fixture(scope="module")
def files(tmp_path_factory, nano_folder):
    """One policy under two names, and fresh episodes of either."""
    folder = tmp_path_factory.mktemp("likelihood")
    made = {"tasks": folder / "tasks.parquet"}
    tasks.run({"env": "frozen_lake", "seed": 1, "tasks": TASKS, "turns": 4}, {}, made)
    inputs = {}
    for actor, policy in (("base", "base"), ("trained", "grpo-s0")):
        inputs[actor] = nano_folder / "provenance.json"
        written = {name: folder / f"{actor}_{name}.parquet" for name in ("episodes", "turns")}
        spec = {**WHO, **PLAYED, "policy": policy}
        sample.run(spec, {**made, "policy": inputs[actor]}, written)
        inputs |= {f"{actor}_{name}": path for name, path in written.items()}
    return inputs


def test_both_tables_are_written(files, tmp_path):
    outputs = {name: tmp_path / f"{name}.parquet" for name in ("likelihood", "heat")}
    likelihood.run(SPEC, files, outputs)
    rows = tables.read(outputs["likelihood"], "likelihood")
    assert set(rows["policy"]) == {"grpo-s0"}
    assert set(rows["actor"]) == {"base", "trained"}
    assert rows.groupby("actor").apply(
        lambda own: len(own.groupby(["task_id", "sample"]))
    ).tolist() == [8, 8]
    assert rows["logp_base"].tolist() == pytest.approx(rows["logp_trained"].tolist(), abs=1e-9)
    assert tables.read(outputs["heat"], "heat")["temperature"].item() == pytest.approx(1.0)
    again = {name: tmp_path / f"again_{name}.parquet" for name in outputs}
    likelihood.run(SPEC, files, again)
    for name, path in outputs.items():
        assert path.read_bytes() == again[name].read_bytes()


def test_only_one_backend_scores(files, tmp_path):
    with pytest.raises(
        ValueError, match="backend 'oracle' scores no tokens; legal is 'transformers'"
    ):
        likelihood.run({**SPEC, "backend": "oracle"}, files, {})
