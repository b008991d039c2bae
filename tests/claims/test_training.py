import pytest

from tests.claims.evidence import ARMS, gap, table
from turnscope.claims.training import judge

NAN = float("nan")


def change(metric, value, step=100, half=0.02, **columns):
    return {**gap(0, step, value, half, metric), "k": None, **columns}


def evidence(multi=0.3, single=-0.1, probe=0.0, half=0.02):
    return [
        change("r_multi_change", multi),
        change("r_single_change", single),
        change("r_single_probe_change", probe, half=half),
        change("r_single_composition", -0.08),
        change("r_single_within", single + 0.08),
    ]


def verdict(*rows):
    (found,) = judge(table(*rows), ARMS)
    return found


@pytest.mark.parametrize(
    ("multi", "single", "probe", "expected"),
    [
        (0.3, -0.1, 0.0, "holds"),
        (0.3, -0.1, 0.019, "holds"),  # not above 0
        (0.3, -0.1, -0.2, "holds"),
        (0.3, -0.1, 0.021, "contradicted"),
        (0.01, -0.1, 0.0, "inconclusive"),
        (0.3, -0.01, 0.0, "inconclusive"),  # nothing falls
        (0.3, 0.1, 0.0, "inconclusive"),
        (0.3, 0.1, 0.1, "contradicted"),
        (-0.03, -0.1, 0.0, "contradicted"),
    ],
)
def test_success_rises_and_single_actions_get_no_better(multi, single, probe, expected):
    row = verdict(*evidence(multi, single, probe))
    assert row["verdict"] == expected
    assert (row["value"], row["null_value"]) == (single, -0.08)


def test_every_form_is_printed():
    others = [change("r_single_first_change", 0.005), change("r_single_task_change", -0.03)]
    detail = verdict(*evidence(), *others)["detail"]
    assert "step 0 to 100: R_multi +0.300 [+0.280, +0.320]" in detail
    assert "R_single on-policy -0.100 [-0.120, -0.080], on probe states +0.000" in detail
    assert "composition -0.080 [-0.100, -0.060], within states -0.020" in detail
    assert "every task alike -0.030 [-0.050, -0.010], first turns +0.005" in detail


def test_what_was_not_found_tells_its_power():
    # half of the interval, and 0.84 standard errors of 0.1 / 1.96
    wide = verdict(*evidence(half=0.1))
    assert wide["verdict"] == "holds"
    assert "rise of R_single on probe states of at least 0.143 would be found" in wide["detail"]
    open_case = verdict(*evidence(multi=0.01, single=0.0))["detail"]
    assert "a true rise of R_multi of at least 0.029" in open_case
    assert "a true fall of on-policy R_single of at least 0.029" in open_case


def test_the_last_step_counts():
    earlier = [{**row, "t": 50} for row in evidence(-0.3, 0.3, 0.3)]
    assert verdict(*earlier, *evidence())["verdict"] == "holds"


def test_seeds_are_listed():
    seeds = [
        {**row, "policy": f"grpo-s{seed}"}
        for seed in (0, 1)
        for row in evidence(0.1 * seed, 0.1 - 0.3 * seed)
    ]
    row = verdict(*evidence(), *seeds)
    assert "By training seed: R_multi +0.000, +0.100 (1 above 0 and 0 below of 2)" in row["detail"]
    assert "; R_single on-policy +0.100, -0.200 (1 above 0 and 1 below of 2)" in row["detail"]
    assert "; R_single on probe states +0.000, +0.000 (0 above 0" in row["detail"]
    assert "conditional on the training seeds" in row["rule"]


def test_a_reference_arm_that_was_told_says_so():
    told = [{**row, "policy": "budget_mix_told"} for row in evidence()]
    compared = gap(8, 20, 0.0, metric="between_arms") | {"against": "budget_mix_told"}
    row = verdict(*told, compared)
    assert row["policy"] == "budget_mix_told"
    assert "Its episodes show the turns left" in row["detail"]
    assert "turns left" not in verdict(*evidence())["detail"]


def test_only_the_reference_arm_is_standard_training():
    other = [{**row, "policy": "gigpo"} for row in evidence(-0.3)]
    assert verdict(*evidence(), *other)["policy"] == "grpo"
    compared = gap(8, 20, 0.0, metric="between_arms") | {"policy": "grpo", "against": "gigpo"}
    assert verdict(*evidence(), *other, compared)["policy"] == "gigpo"


@pytest.mark.parametrize("place", [0, 1, 2])
def test_without_an_interval_nothing_is_judged(place):
    rows = evidence()
    rows[place] = {**rows[place], "low": NAN}
    assert verdict(*rows)["verdict"] == "not run"


def test_without_a_step_quality_nothing_is_judged():
    row = verdict(change("r_multi_change", 0.3))
    assert row["verdict"] == "not run"
    assert "no step quality" in row["detail"]


def test_without_progress_there_is_no_row():
    assert judge(table(gap(8, 20, 0.3)), ARMS) == []
