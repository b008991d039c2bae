import json

import pytest

from tests.plan.finished import DONE, RECORDS, job
from turnscope.plan import forecast, measure, rates
from turnscope.plan.jobs import study_of
from turnscope.plan.measure import Done
from turnscope.plan.rates import Key


def test_rates_plan_what_they_were_fitted_to():
    found = measure.fit([DONE])
    *_, (_, _, took, planned) = measure.compare(DONE, found)
    assert planned.value == pytest.approx(took, rel=0.05)
    assert planned.low < took < planned.high


def test_a_start_is_no_work():
    probes = Done(job("probes"), 5.0, 0, None)
    base = [Done(job(stage), 4.0, 0, None) for stage in ("tasks", "base")]
    settings = {"tasks": 10, "episodes": 2, "turns": [5]}
    sample = [Done(job("sample", **settings), seconds, 0, None) for seconds in (7.0, 8.0)]
    found = measure.fit([[probes, *base, *sample]])
    assert found[Key("start", "frozen_lake", "*", "s/job")].span.value == 5.0
    # 100 turns in 2 and in 3 seconds; a factor of 1.4 at least.
    span = found[Key("sample", "frozen_lake", "again", "s/turn")].span
    assert (span.value, span.low, span.high) == pytest.approx((0.025, 0.025 / 1.4, 0.035))


def written(folder, records):
    """Write the records of jobs as stages leave them."""
    for number, record in enumerate(records):
        place = folder / str(number)
        place.mkdir(parents=True)
        outputs = [{"bytes": record["bytes"]}]
        told = {"stage": record["stage"], "spec": record["spec"], "outputs": outputs}
        (place / "provenance.json").write_text(json.dumps(told))
        (place / "run.json").write_text(json.dumps({"cpu_seconds": record["cpu_seconds"]}))
    return folder


def test_folders_of_results_are_read_fitted_and_compared(tmp_path, capsys):
    plain = [one for one in RECORDS if one["stage"] not in ("sample", "train")]
    results = written(tmp_path / "results", plain)
    assert len(measure.done(results)) == len(plain)
    output = tmp_path / "rates.csv"
    assert measure.main([str(results), "--output", str(output)]) == 0
    (base,) = (one for one in measure.done(results) if one.job == job("base"))
    planned = forecast.seconds(base.job, study_of([job("tasks"), base.job]), rates.load(output))
    assert planned.value == pytest.approx(base.seconds, rel=0.01)
    assert measure.main([str(results)]) == 0
    assert "total" in capsys.readouterr().out


def test_a_folder_without_results_is_refused(tmp_path, capsys):
    assert measure.main([str(tmp_path)]) == 1
    assert "holds no provenance.json" in capsys.readouterr().err
