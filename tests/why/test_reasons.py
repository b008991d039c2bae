import json
import shlex

import pytest

from turnscope import provenance
from turnscope.why import reasons

OUTPUTS = ["made/model.safetensors", "made/provenance.json"]
CHANGED = f"{reasons.PARAMS}: Union of exclusive params before and now across all output: before: "


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with an artifact of stage `train` that was trained for 60 steps."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "made").mkdir()
    (tmp_path / "made/model.safetensors").write_text("weights")
    (tmp_path / "tasks.parquet").write_text("tasks")
    recorded(tmp_path)
    return tmp_path


def recorded(place, **changes):
    record = {
        "stage": "train",
        "spec": {"training": {"steps": 60}},
        "modules": provenance.modules(["draws"]),
        "inputs": [{"name": "tasks", "path": "tasks.parquet", "sha256": "0"}],
        "outputs": [
            {
                "path": "made/model.safetensors",
                "sha256": provenance.file_sha256(place / "made/model.safetensors"),
            }
        ],
    }
    (place / "made/provenance.json").write_text(json.dumps(record | changes))


def command(steps=60, inputs="tasks=tasks.parquet"):
    spec = shlex.quote(json.dumps({"training": {"steps": steps}}))
    return (
        f"python -m turnscope.stages.train --spec {spec} --code 0 draws --input {inputs} "
        "--output weights=made/model.safetensors provenance=made/provenance.json > log 2>&1"
    )


def test_a_changed_value_is_named(place):
    said = reasons.words(f"{CHANGED}a now: b", command(80), OUTPUTS, {})
    assert said == "its specification changed: training.steps 60 -> 80"


def test_a_changed_module_is_named(place):
    recorded(place, modules=provenance.modules(["draws"]) | {"turnscope.draws": "0"})
    said = reasons.words(f"{CHANGED}a now: b", command(), OUTPUTS, {})
    assert said == "its code changed: turnscope/draws.py"


def test_a_changed_value_is_named_also_where_there_is_another_reason(place):
    reason = f"{reasons.FOLLOWS}tasks.parquet"
    said = reasons.words(reason, command(80), OUTPUTS, {"tasks.parquet": "Make the tasks"})
    assert said == ("its specification changed: training.steps 60 -> 80; follows: Make the tasks")


@pytest.mark.parametrize("damaged", ["{", "[]", '{"spec": {}}', "\x00"])
def test_parameters_of_which_nothing_is_recorded_are_not_guessed_at(place, damaged):
    (place / "made/provenance.json").write_text(damaged)
    said = reasons.words(f"{CHANGED}a; b now: c; {reasons.SOFTWARE}", command(80), OUTPUTS, {})
    assert said == "its specification or its code changed; its software environment changed"


def test_a_lost_file_is_missing_and_what_never_was_is_not_made_yet(place):
    reason = f"{reasons.MISSING}made/model.safetensors"
    (place / "made/model.safetensors").unlink()
    assert reasons.words(reason, command(), OUTPUTS, {}) == "missing: made/model.safetensors"
    (place / "made/provenance.json").unlink()
    later = f"{reason}; {reasons.FOLLOWS}tasks.parquet"
    assert reasons.words(later, command(), OUTPUTS, {}) == "not made yet"


def test_an_input_says_who_made_it_and_whether_it_is_as_it_was_left(place):
    reason = f"{reasons.UPDATED}made/model.safetensors"
    said = "its input is another one: made/model.safetensors"
    assert reasons.words(reason, None, ["x"], {}) == f"{said}, made again by train"
    (place / "made/model.safetensors").write_text("other weights")
    assert reasons.words(reason, None, ["x"], {}) == f"{said}, not as train left it"
    assert reasons.words(f"{reasons.UPDATED}tasks.parquet", None, ["x"], {}) == (
        "its input is another one: tasks.parquet"
    )


def test_inputs_that_came_or_went_are_named(place):
    said = reasons.words(reasons.INPUTS, command(inputs="tasks=other.parquet"), OUTPUTS, {})
    assert said == "it has other inputs: other.parquet (new), tasks.parquet (gone)"


def test_jobs_before_it_are_named_once_and_counted():
    makers = {"a": "Train grpo", "b": "Train grpo", "c": "Play grpo"}
    reason = f"{reasons.FOLLOWS}c, b, a, unknown"
    assert reasons.words(reason, None, ["x"], makers) == "follows: Train grpo and 1 more"
    assert reasons.words(f"{reasons.FOLLOWS}unknown", None, ["x"], {}) == "follows: unknown"


@pytest.mark.parametrize(
    ("reason", "outputs", "said"),
    [
        (f"{reasons.FOLLOWS}a", [], "asked for"),
        ("Forced execution", ["x"], "forced"),
        (f"{reasons.INCOMPLETE}x", ["x"], "left half made: x"),
        ("Something new", ["x"], "Something new"),
    ],
)
def test_other_reasons(reason, outputs, said):
    assert reasons.words(reason, None, outputs, {}) == said
