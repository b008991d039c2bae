import pytest

from turnscope.calibration import families, planted, scenarios
from turnscope.calibration.planted import Look
from turnscope.calibration.studies import Cell, Design, Findings

NAN = float("nan")


def findings(value=0.1, low=0.02, high=0.2, p_value=NAN, verdict="holds"):
    cell = Cell(value, low, high, -0.1, 0.3, NAN, NAN, p_value)
    return Findings({("one", "grpo", "base", None, 8, 12): cell}, {("C1", "grpo"): verdict})


@pytest.mark.parametrize(
    ("low", "high", "found"), [(0.02, 0.2, True), (-0.2, -0.1, True), (-0.1, 0.1, False)]
)
def test_an_interval_without_the_null_value_finds_an_effect(low, high, found):
    assert families.excludes("one", k=8, t=12)(findings(low=low, high=high)) is found


def test_what_has_no_interval_tells_nothing():
    assert families.excludes("one", k=8, t=12)(findings(low=NAN, high=NAN)) is None
    assert families.excludes("other", k=8, t=12)(findings()) is None
    assert families.excludes("one", k=8, t=12)(findings(value=NAN)) is None


@pytest.mark.parametrize(("p_value", "found"), [(0.049, True), (0.05, False), (NAN, None)])
def test_a_p_value_below_the_level_finds_an_effect(p_value, found):
    assert families.rejects("one", k=8, t=12)(findings(p_value=p_value)) is found


@pytest.mark.parametrize(
    ("verdict", "found"), [("holds", True), ("inconclusive", False), ("not run", None)]
)
def test_a_verdict_finds_an_effect(verdict, found):
    finds = families.verdict("C1", "grpo", "holds", "contradicted")
    assert finds(findings(verdict=verdict)) is found


def test_a_rule_holds_distances_to_thresholds():
    looks = [
        Look("one", {"k": 8, "t": 12}, threshold=0.04),
        Look("one", {"k": 8, "t": 12}, "band_t_low"),
    ]
    rule = planted.rule(looks, findings())
    assert rule is not None
    assert rule.values == pytest.approx((0.06, 0.1))
    assert rule.margins == pytest.approx((0.08, 0.2))
    assert planted.rule([Look("other", {})], findings()) is None


def test_each_family_has_its_own_name_and_a_scenario_that_is_run():
    design = Design()
    everything = [*families.nulls(design), *families.naive(), *planted.families(design)]
    names = [one.name for one in everything]
    assert len(set(names)) == len(names)
    plain = [scenarios.NULL, scenarios.SKILL, scenarios.ERRORS, scenarios.LATE, scenarios.OTHERS]
    run = {one.name for one in [*plain, scenarios.margin(-0.1)]}
    assert {one.scenario for one in everything} == run
