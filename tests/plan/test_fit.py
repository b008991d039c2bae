from tests.plan.finished import job
from turnscope.plan import fit
from turnscope.plan.jobs import study_of

QWEN = {"backend": "vllm", "path": "Qwen/Qwen3-8B"}
BUDGET = {"turns": 10, "turn_tokens": 512, "tokens": None}
BASE = job("base", settings=QWEN, budget=BUDGET)
TRAINING = {"steps": 1, "tasks": 2, "group": 2, "checkpoint_steps": 1, "micro": 1}


def test_each_kind_of_job_is_judged_on_each_gpu():
    part = job("sample", backend="vllm")._replace(rule="shard")
    jobs = [job("tasks"), BASE, part, job("train", training=TRAINING), job("likelihood")]
    found = {row.kind: row for row in fit.rows(jobs, study_of(jobs))}
    assert set(found) == {"play", "train", "likelihood"}
    # Trained whole on one GPU: 22 bytes of 8.19 parameters and more.
    lines = fit.text([found["train"], found["play"]])
    assert lines[0].split() == [
        *("model", "rule", "GPUs", "weights", "gradients", "optimiser", "activations"),
        *("a100", "of", "80", "h100", "of", "80", "h200", "of", "141"),
    ]
    assert lines[2].split()[-2:] == ["193", "NO"]
    assert lines[3].split()[-6:] == ["40", "fits", "40", "fits", "67", "fits"]


def test_a_tuning_is_heeded_and_a_critic_has_a_line_of_its_own():
    tuning = {"method": "lora", "rank": 32, "sampler": "vllm"}
    jobs = [
        job("tasks"),
        BASE,
        job("train", training=TRAINING, tuning=tuning),
        job("train", training=TRAINING, tuning=tuning, algorithm="ppo"),
    ]
    rows = fit.rows(jobs, study_of(jobs))
    assert [row.kind for row in rows] == ["train", "train with a critic"]
    assert [[need.engine / 1e9 for need in row.needs] for row in rows] == [[24.0, 24.0, 42.3]] * 2


def test_more_at_once_counts():
    tuning = {"sampler": "vllm", "server": True}
    one, two = (
        job("train", training=TRAINING | {"micro": micro}, tuning=tuning) for micro in (1, 2)
    )
    jobs = [job("tasks"), BASE, one, two]
    (row,) = fit.rows(jobs, study_of(jobs))
    (less,) = fit.rows(jobs[:-1], study_of(jobs))
    assert row.needs[0].activations == 2 * less.needs[0].activations


def test_transformers_plays_a_batch_as_large_as_it_is():
    jobs = [job("tasks"), BASE, job("sample", batch=1), job("sample", batch=100)]
    (many,) = fit.rows(jobs, study_of(jobs))
    (one,) = fit.rows(jobs[:-1], study_of(jobs))
    assert many.needs[0].activations == 100 * one.needs[0].activations > 0


def test_what_is_built_or_not_known_has_no_line():
    jobs = [job("tasks"), job("base"), job("sample"), job("train")]
    assert fit.text(fit.rows(jobs, study_of(jobs))) == []
