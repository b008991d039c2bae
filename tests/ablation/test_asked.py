import pytest

from tests.test_config import SCHEMA, study
from turnscope import config as studies
from turnscope.ablation import asked


@pytest.fixture(scope="module")
def config():
    """The default study, with a second environment in which one arm runs less."""
    given = study(study__environments=["frozen_lake", "deepcoder"], training__seeds=[0, 1])
    given["environments"]["deepcoder"]["arms"] = ["grpo", "gigpo"]
    return studies.check(given, SCHEMA)


def marks(text, config):
    return [mark.removeprefix("results/") for mark in asked.resolve(text, config).marks]


def test_an_arm_is_all_its_trainings_and_what_follows(config):
    found = asked.resolve("gigpo", config)
    assert (found.kind, found.name, found.target) == ("arm", "gigpo", "all")
    assert found.policies == ("gigpo-s0", "gigpo-s1")
    assert marks("gigpo", config) == [
        f"policies/{env}/nano/gigpo-s{seed}/provenance.json"
        for env in ("frozen_lake", "deepcoder")
        for seed in (0, 1)
    ]


def test_an_arm_is_trained_only_where_it_runs(config):
    assert {mark.split("/")[1] for mark in marks("arm/budget_mix", config)} == {"frozen_lake"}
    with pytest.raises(ValueError, match=r"^'budget_mix-s0' is not trained in deepcoder$"):
        asked.resolve("deepcoder/budget_mix-s0", config)


def test_a_policy_may_follow_its_environment_and_model(config):
    one = ["policies/frozen_lake/nano/grpo-s1/provenance.json"]
    assert marks("frozen_lake/nano/grpo-s1", config) == one
    assert marks("frozen_lake/grpo-s1", config) == one
    assert len(marks("grpo-s1", config)) == 2
    assert asked.resolve("frozen_lake/grpo-s1", config).name == "frozen_lake/grpo-s1"


def test_a_seed_is_all_policies_of_that_seed(config):
    assert asked.resolve("frozen_lake/s1", config).policies == (
        "grpo-s1",
        "gigpo-s1",
        "budget_mix-s1",
    )


def test_a_claim_or_a_figure_is_made_alone(config):
    assert asked.resolve("C1", config) == asked.Asked(
        "claim", "C1", "results/claims/claims.parquet", ("results/claims/provenance.json",)
    )
    assert asked.resolve("pass_at_t", config) == asked.Asked(
        "figure",
        "pass_at_t",
        "results/figures/pass_at_t.csv",
        ("results/figures/pass_at_t.provenance.json",),
    )
    assert asked.resolve("conduct", config).target == "results/summaries/conduct.csv"


def test_a_metric_is_estimated_everywhere(config):
    assert marks("pass_at_kt", config) == [
        "estimates/frozen_lake/nano/pass_at_kt.provenance.json",
        "estimates/deepcoder/nano/pass_at_kt.provenance.json",
    ]


def test_nothing_is_what_changed(config):
    assert asked.resolve("", config) == asked.Asked("all", "all", "all", ())


def test_a_name_of_several_things_is_not_guessed(config):
    legal = "figure/budget_mix or summary/budget_mix or arm/budget_mix"
    with pytest.raises(ValueError, match=f"^'budget_mix' may mean several things; say {legal}$"):
        asked.resolve("budget_mix", config)
    assert asked.resolve("summary/budget_mix", config).kind == "summary"
    # A place has no figures.
    assert asked.resolve("frozen_lake/budget_mix", config).kind == "arm"


@pytest.mark.parametrize("text", ["grpoo", "grpo-s7", "sea/grpo", "frozen_lake/nano/x/grpo", "s9"])
def test_an_unknown_name_is_refused_with_what_is_legal(config, text):
    start = f"^there is no {text!r} in this study; legal: claim C1, "
    with pytest.raises(ValueError, match=start) as refused:
        asked.resolve(text, config)
    (line,) = str(refused.value).splitlines()
    for part in ("pass_at_t", "arm grpo, gigpo, budget_mix;", "seed s0, s1;", "model nano"):
        assert part in line


def test_an_unknown_name_of_a_kind_is_refused_with_those_of_that_kind(config):
    with pytest.raises(ValueError, match=r"^there is no seed 's3'; legal: s0, s1$"):
        asked.resolve("seed/s3", config)
