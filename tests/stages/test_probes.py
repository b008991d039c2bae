import pytest

from turnscope import tables
from turnscope.environments import frozen_lake
from turnscope.stages import probes, tasks, train

TASKS = {"train": 3, "test": 5, "sizes": [3], "frozen": 0.8, "slip": 0.0, "distance": 2}
PROGRESS = {"seed": 1, "tasks": 2, "episodes": 3, "states": 4, "actions": 5}
SPEC = {
    "env": "frozen_lake",
    "model": "nano",
    "seed": 1,
    "backend": "transformers",
    "options": {"view": "position"},
    "budget": {"turns": 4, "turn_tokens": 4},
    "progress": PROGRESS,
}


@pytest.fixture
def files(tmp_path):
    """Tasks, and a base policy that is not there, so that playing it would fail."""
    made = {"tasks": tmp_path / "tasks.parquet", "policy": tmp_path / "nobody/provenance.json"}
    tasks.run({"env": "frozen_lake", "seed": 1, "tasks": TASKS, "turns": 4}, {}, made)
    return made


def test_states_are_sought_only_where_actions_can_be_graded(files, tmp_path, monkeypatch):
    outputs = {"states": tmp_path / "states.parquet"}
    with pytest.raises(Exception, match="nobody"):
        probes.run(SPEC, files, outputs)
    monkeypatch.delattr(frozen_lake, "step_quality")
    probes.run(SPEC, files, outputs)
    assert tables.read(outputs["states"], "states").empty


def test_training_probes_nothing_where_no_action_can_be_graded(files, monkeypatch):
    monkeypatch.delattr(frozen_lake, "step_quality")
    known = tables.to_tasks(tables.read(files["tasks"], "tasks"))
    exam = train._exam(SPEC, known, {})
    assert (exam.states, exam.episodes, len(exam.tasks)) == ([], 3, 2)
