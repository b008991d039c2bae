import json
import subprocess
import sys

import pytest

from turnscope import provenance, registry
from turnscope.stages import _job


def copy(spec, inputs, outputs):
    """A stage: repeat the inputs."""
    text = "".join(path.read_text() for path in _job.every(inputs, "text"))
    outputs["copy"].write_text(text * spec["times"])


def arguments(folder, times=2, mark="provenance.json"):
    (folder / "a").write_text("a")
    (folder / "b").write_text("b")
    return [
        *("--spec", json.dumps({"times": times})),
        *("--input", f"text={folder / 'a'}", str(folder / "b")),
        *("--output", f"copy={folder / 'new' / 'copy'}", f"provenance={folder / 'new' / mark}"),
    ]


def test_a_job_leaves_its_artifact_and_its_records(tmp_path):
    assert _job.execute(copy, "tasks", arguments(tmp_path)) == 0
    new = tmp_path / "new"
    assert (new / "copy").read_text() == "abab"
    assert sorted(path.name for path in new.iterdir()) == ["copy", "provenance.json", "run.json"]
    record = json.loads((new / "provenance.json").read_text())
    assert record["stage"] == "tasks"
    assert [entry["name"] for entry in record["inputs"]] == ["text.0", "text.1"]
    assert [entry["name"] for entry in record["outputs"]] == ["copy"]
    assert record["code"] == provenance.digest(["stages.tasks"])


def test_equal_jobs_leave_equal_records(tmp_path):
    words = arguments(tmp_path)
    mark = tmp_path / "new" / "provenance.json"
    _job.execute(copy, "tasks", words)
    first = mark.read_bytes()
    _job.execute(copy, "tasks", words)
    assert mark.read_bytes() == first


def test_a_folder_of_its_own_is_recorded_whole(tmp_path):
    new = tmp_path / "new"
    (new / ".scratch").mkdir(parents=True)
    (new / ".scratch" / "state").write_text("")

    def learn(spec, inputs, outputs):
        assert (_job.scratch(outputs) / "state").exists()
        (_job.folder(outputs) / "weights").write_text("w")
        copy(spec, inputs, outputs)

    assert _job.execute(learn, "tasks", arguments(tmp_path)) == 0
    record = json.loads((new / "provenance.json").read_text())
    assert [entry["name"] for entry in record["outputs"]] == ["copy", "weights"]


def test_what_an_earlier_job_left_is_removed(tmp_path):
    _job.execute(copy, "tasks", arguments(tmp_path))
    new = tmp_path / "new"
    (new / "provenance.json").unlink()  # as Snakemake does before it runs a job again
    (new / "model-00001-of-00002.safetensors").write_text("old")
    (new / "checkpoint").mkdir()
    (new / "checkpoint" / "state").write_text("old")
    assert _job.execute(copy, "tasks", arguments(tmp_path)) == 0
    assert sorted(path.name for path in new.iterdir()) == ["copy", "provenance.json", "run.json"]


def test_what_a_failed_job_left_is_removed(tmp_path):
    def fail(spec, inputs, outputs):
        (_job.folder(outputs) / "half").write_text("")
        raise ValueError("no more")

    assert _job.execute(fail, "tasks", arguments(tmp_path)) == 1
    assert (tmp_path / "new" / "half").exists()
    assert _job.execute(copy, "tasks", arguments(tmp_path)) == 0
    assert not (tmp_path / "new" / "half").exists()


def test_files_that_no_job_made_are_not_removed(tmp_path, capsys):
    new = tmp_path / "new"
    new.mkdir()
    (new / "thesis").write_text("x")
    assert _job.execute(copy, "tasks", arguments(tmp_path)) == 1
    assert (new / "thesis").read_text() == "x"
    assert (
        capsys.readouterr()
        .err.splitlines()[-1]
        .endswith(
            "new holds thesis, which no job made; "
            "legal is a folder that is new, empty or an earlier job's"
        )
    )


def test_a_job_does_not_empty_a_folder_that_it_reads(tmp_path, capsys):
    _job.execute(copy, "tasks", arguments(tmp_path))
    words = arguments(tmp_path)
    words[words.index("--output") - 1] = str(tmp_path / "new" / "copy")
    assert _job.execute(copy, "tasks", words) == 1
    assert (tmp_path / "new" / "copy").exists()
    assert "but it holds the input" in capsys.readouterr().err.splitlines()[-1]


def test_in_a_shared_folder_a_job_records_only_its_own_files(tmp_path):
    new = tmp_path / "new"
    new.mkdir()
    (new / "other").write_text("")
    _job.execute(copy, "tasks", arguments(tmp_path, mark="copy.provenance.json"))
    record = json.loads((new / "copy.provenance.json").read_text())
    assert [entry["name"] for entry in record["outputs"]] == ["copy"]
    assert (new / "copy.run.json").exists()


def test_bad_data_ends_the_log_with_one_line(tmp_path, capsys):
    def refuse(spec, inputs, outputs):
        raise ValueError("task t3: the map has no goal")

    assert _job.execute(refuse, "tasks", arguments(tmp_path)) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "error: task t3: the map has no goal"
    assert not (tmp_path / "new" / "provenance.json").exists()


def test_other_failures_name_their_kind(tmp_path, capsys):
    words = arguments(tmp_path)
    (tmp_path / "b").unlink()
    assert _job.execute(copy, "tasks", words) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith("error: FileNotFoundError: ")


def test_an_output_that_was_not_written_is_an_error(tmp_path, capsys):
    def forget(spec, inputs, outputs):
        pass

    assert _job.execute(forget, "tasks", arguments(tmp_path)) == 1
    assert "did not write its output copy" in capsys.readouterr().err.splitlines()[-1]


def test_a_code_change_since_planning_is_logged_and_the_truth_recorded(tmp_path, capsys):
    words = [*arguments(tmp_path), "--code", "0123456789abcdef", "stages.tasks"]
    assert _job.execute(copy, "tasks", words) == 0
    assert "the code changed since the job was planned" in capsys.readouterr().err
    record = json.loads((tmp_path / "new" / "provenance.json").read_text())
    assert record["code"] == provenance.digest(["stages.tasks"])


def test_a_path_without_a_name_is_refused():
    with pytest.raises(ValueError, match="'x' has no name; write NAME=x"):
        _job.files(["x"])


def test_files_are_named_one_by_one():
    words = ["a=1", "b=2", "3", "c="]
    assert {name: str(path) for name, path in _job.files(words).items()} == {
        "a": "1",
        "b.0": "2",
        "b.1": "3",
    }
    assert _job.every(_job.files(words), "c") == []
    assert [path.name for path in _job.every(_job.files(words), "b")] == ["2", "3"]


def asking(folder, env):
    words = arguments(folder)
    spec = {"times": 2} if env is None else {"times": 2, "env": env}
    words[words.index("--spec") + 1] = json.dumps(spec)
    return words


def test_what_an_environment_says_of_its_run_is_logged_and_goes_to_the_record_of_circumstances(
    tmp_path, capsys
):
    def play(spec, inputs, outputs):
        environment = registry.load("environments", spec["env"])
        world = environment.Environment()
        world.reset(environment.tasks(1, train=1, test=0)[0], 0)
        world.step("def f(x): return 'kept'")
        copy(spec, inputs, outputs)

    assert _job.execute(play, "tasks", asking(tmp_path, "deepcoder")) == 0
    new = tmp_path / "new"
    kept = json.loads((new / "run.json").read_text())
    facts = registry.load("environments", "deepcoder").facts()
    assert {name: kept[name] for name in facts} == facts
    assert kept["verdicts"]["runs"] > 0
    assert kept.keys() > facts.keys()
    assert f"sandbox: {facts['sandbox']}" in capsys.readouterr().err
    assert "seccomp" not in (new / "provenance.json").read_text()


@pytest.mark.parametrize("env", [None, "frozen_lake", "no_such_world", "../deepcoder", ""])
def test_nothing_is_asked_where_an_environment_has_nothing_to_say(tmp_path, env):
    registry.load("environments", "frozen_lake")
    assert _job.execute(copy, "tasks", asking(tmp_path, env)) == 0
    kept = json.loads((tmp_path / "new" / "run.json").read_text())
    assert not {"sandbox", "verdicts"} & kept.keys()


def test_an_environment_that_the_job_did_not_load_is_not_asked(tmp_path):
    code = (
        "import json, sys; from turnscope.stages import _job;"
        "print(_job._facts({'env': 'deepcoder'}), 'turnscope.environments' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "{} False\n"
