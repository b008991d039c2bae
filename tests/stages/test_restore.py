from turnscope.stages import _restore

COMMAND = (
    "Shell command: test 0 != 0 || export CUDA_VISIBLE_DEVICES=; OMP_NUM_THREADS=1 "
    "'/my python' -m turnscope.stages.tasks --spec '{\"a\":\"b c\"}' --code c0de stages.tasks "
    "--output tasks=none/tasks.parquet provenance=none/provenance.json > none.log 2>&1"
)


def test_commands_are_found_among_other_lines():
    (options,) = _restore.planned(["Building DAG of jobs...", COMMAND])
    assert options.spec == {"a": "b c"}
    assert options.code == ["c0de", "stages.tasks"]


def test_a_missing_artifact_is_stale(capsys):
    assert _restore.main([COMMAND]) == 1
    assert capsys.readouterr().err == "stale: none/provenance.json is missing\n"


def test_an_empty_plan_proves_nothing(capsys):
    assert _restore.main(["error"]) == 1
    assert "no job is planned" in capsys.readouterr().err
