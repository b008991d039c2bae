import pytest

from turnscope import dry_run

COMMAND = (
    "Shell command: test 0 != 0 || export CUDA_VISIBLE_DEVICES=; OMP_NUM_THREADS=1 "
    "'/my python' -m turnscope.stages.claims --spec '{\"a\":\"b c\"}' --code c0de stages.claims "
    "--input estimates=one two none= --output claims=new/claims.parquet "
    "provenance=new/provenance.json > none.log 2>&1"
)


def test_commands_are_found_among_other_lines():
    (job,) = dry_run.read(["Building DAG of jobs...", COMMAND])
    assert job.mark == "new/provenance.json"
    assert job.spec == {"a": "b c"}
    assert job.starts == ("stages.claims",)
    assert job.inputs == {"estimates.0": "one", "estimates.1": "two"}
    assert job.outputs == {"claims": "new/claims.parquet"}


def test_an_empty_plan_proves_nothing():
    with pytest.raises(ValueError, match="no job is planned"):
        dry_run.read(["error"])
