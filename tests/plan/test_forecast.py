import math

import pytest

from tests.plan.finished import DONE, JOBS, job
from turnscope.plan import derived, forecast, measure, rates
from turnscope.plan.forecast import Cost
from turnscope.plan.rates import Key, Rate
from turnscope.plan.spans import NOTHING, Span, exactly

TABLE = rates.load()


def test_finished_jobs_took_what_is_planned():
    # The lake's records are of another run than those from which the rates come.
    *rows, (_, jobs, took, planned) = measure.compare(DONE, TABLE)
    assert jobs == len(DONE)
    assert took / 1.5 < planned.value < took * 1.5
    assert planned.low < took < planned.high
    for stage, _, took, planned in rows:
        assert took / 2 < planned.value < took * 2, stage


def test_finished_jobs_left_what_is_planned():
    left = sum(one.disk for one in DONE)
    planned = forecast.added(line.cost for line in forecast.plan(JOBS, TABLE, "h100"))
    assert left / 2 < planned.disk.value < left * 2


def test_a_job_takes_its_start_and_its_work():
    table = {
        Key("start", "*", "*", "s/job"): Rate(exactly(5.0), ""),
        Key("train", "*", "*", "s/trained"): Rate(Span(2.0, 1.0, 3.0), ""),
        Key("sample", "*", "*", "s/turn"): Rate(exactly(0.5), ""),
    }
    training = {"steps": 1, "tasks": 1, "group": 2, "checkpoint_steps": 1}
    train = job("train", training=training, progress={"tasks": 1, "episodes": 1})
    # 40 turns of training; 2 measurements of 20 turns.
    planned = forecast.seconds(train, forecast.study_of(JOBS), table)
    assert planned == Span(5 + 80 + 20, 5 + 40 + 20, 5 + 120 + 20)


def test_the_most_expensive_rule_comes_first():
    lines = forecast.plan(JOBS, TABLE, "h100")
    assert sum(line.jobs for line in lines) == len(JOBS)
    assert {line.source for line in lines} == {"measured"}
    rules = list(dict.fromkeys(line.rule for line in lines))
    hours = [sum(line.cost.cpu.value for line in lines if line.rule == rule) for rule in rules]
    assert hours == sorted(hours, reverse=True)


def test_another_environment_is_a_guess():
    table = {key: rate for key, rate in TABLE.items() if key.env != "intercode_sql"}
    sources = {line.env: line.source for line in forecast.plan(JOBS, table, "h100")}
    assert sources["frozen_lake"] == "measured"
    assert sources["intercode_sql"] == "guessed"


def loaded(path, gpus=1):
    """Return the jobs of the lake with a model that is loaded."""
    base = job("base", settings={"backend": "transformers", "path": path})
    return [job("tasks"), *(one._replace(gpus=gpus) for one in (base, job("train")))]


def test_a_model_on_a_gpu_is_derived():
    lines = {line.rule: line for line in forecast.plan(loaded("Qwen/Qwen3-4B"), TABLE, "h200")}
    assert lines["train"].source == lines["base"].source == "derived"
    assert lines["train"].cost.gpu.value > 0
    assert lines["train"].cost.cpu == NOTHING
    assert lines["tasks"].source == "measured"


@pytest.mark.parametrize("path", [None, "Qwen/Qwen3-8B"])
def test_parts_take_what_the_whole_takes_and_their_starts(path):
    base = job("base") if path is None else job("base", settings={"backend": "vllm", "path": path})
    made = [job("tasks"), base._replace(gpus=1)]
    whole = job("sample")._replace(gpus=1)
    parts = [
        whole._replace(rule="shard", spec={**whole.spec, "part": part, "parts": 4})
        for part in range(1, 5)
    ]
    gather = whole._replace(rule="gather", stage="gather", gpus=0)
    (one,) = (
        line for line in forecast.plan([*made, whole], TABLE, "h100") if line.rule == "sample"
    )
    lines = {line.rule: line for line in forecast.plan([*made, *parts, gather], TABLE, "h100")}
    assert (lines["shard"].jobs, lines["gather"].jobs) == (4, 1)
    assert lines["shard"].cost.tokens.value == pytest.approx(one.cost.tokens.value)
    for place in ("shard", "gather"):  # parts are kept
        assert lines[place].cost.disk.value == pytest.approx(one.cost.disk.value)
    hours = [lines["shard"].cost.cpu + lines["shard"].cost.gpu, one.cost.cpu + one.cost.gpu]
    started = rates.find(TABLE, Key("start", "frozen_lake", "*", "s/job"))
    assert started is not None
    start = derived.START.value if path else started.span.value
    assert (hours[0].value - hours[1].value) * 3600 == pytest.approx(3 * start)
    assert lines["gather"].cost.tokens == lines["gather"].cost.gpu == NOTHING
    assert 0 < lines["gather"].cost.cpu.value * 3600 < 10
    assert lines["gather"].source == "guessed"


@pytest.mark.parametrize("jobs", [loaded("no/model"), loaded("Qwen/Qwen3-4B", gpus=0)])
def test_what_nobody_knows_is_not_nothing(jobs):
    lines = {line.rule: line for line in forecast.plan(jobs, TABLE, "h100")}
    assert lines["train"].source == "unknown"
    assert math.isnan(lines["train"].cost.gpu.value)


def test_money_is_unknown_where_a_price_is():
    cost = Cost(exactly(10.0), Span(4.0, 2.0, 8.0), NOTHING, NOTHING)
    assert forecast.money(cost, 0.5, 3.0) == Span(17.0, 11.0, 29.0)
    assert not forecast.money(cost, 0.5, None).known
    assert forecast.money(cost._replace(gpu=NOTHING), 0.5, None) == exactly(5.0)


def test_a_gpu_must_be_known():
    with pytest.raises(ValueError, match="unknown GPU 'tpu'; known: a100, h100, h200"):
        forecast.plan(JOBS, TABLE, "tpu")
