import pytest

from tests.plan import finished
from turnscope.plan import jobs

COMMAND = (
    "Shell command: test {gpus} != 0 || export CUDA_VISIBLE_DEVICES=; OMP_NUM_THREADS=1 "
    "'/my python' -m turnscope.stages.sample --spec '{{\"env\":\"a b\"}}' --code c0de "
    "--output episodes=results/heated/e.parquet > results/logs/{log} 2>&1"
)


def test_commands_are_found_among_other_lines():
    (job,) = jobs.read(["Building DAG of jobs...", COMMAND.format(gpus=1, log="heated/a/b.log")])
    assert job == ("heated", "sample", {"env": "a b"}, 1)
    assert job.env == "a b"


def test_a_rule_with_one_job_has_one_log():
    (job,) = jobs.read([COMMAND.format(gpus=0, log="claims.log")])
    assert (job.rule, job.gpus) == ("claims", 0)


def test_the_calibration_is_no_part_of_a_study():
    lines = [COMMAND.format(gpus=0, log=f"{rule}.log") for rule in ("calibrate", "claims")]
    assert [job.rule for job in jobs.read(lines)] == ["claims"]


def test_no_job_is_no_plan():
    with pytest.raises(ValueError, match="no job is planned"):
        jobs.read(["error"])


def test_jobs_know_of_each_other():
    study = jobs.study_of(finished.JOBS)
    assert study.tests == {"frozen_lake": 500, "intercode_sql": 300}
    assert study.budgets["intercode_sql"]["turns"] == 8
    assert study.models["frozen_lake", "nano"]["build"]["hidden"] == 64
