import pandas as pd

from tests.claims.evidence import ARMS, gap, headroom, table
from turnscope import tables
from turnscope.claims import _judges, _variants


def judge(*rows: dict) -> list[dict]:
    frame = table(*rows)
    return _variants.judge(_judges.assemble(frame, ARMS), frame, ARMS)


def verdicts(rows: list[dict], claim: str) -> dict[str, str]:
    return {row["variant"]: row["verdict"] for row in rows if row["claim"] == claim}


def changed(name: str, *rows: dict) -> pd.DataFrame:
    frame = table(*rows)
    (variant,) = (one for one in _variants.variants(frame) if one.name == name)
    return variant.change(frame)


def step(metric: str, part: str | None, value: float, **others: object) -> dict:
    return {**gap(1, 20, value, metric=metric), "k": None, "t": None, "part": part, **others}


def seed(number: int, *rows: dict) -> list[dict]:
    return [{**row, "policy": f"{row['policy']}-s{number}", "seeds": 1} for row in rows]


def test_every_seed_is_judged_alone_by_the_same_rule():
    mean, best, worst = gap(8, 20, 0.01), gap(8, 20, 0.2), gap(8, 20, -0.2)
    rows = judge(mean, *seed(10, best), *seed(2, worst))
    assert list(verdicts(rows, "C1").items()) == [
        ("headline", "inconclusive"),
        ("seed 2", "contradicted"),
        ("seed 10", "holds"),
    ]
    (one,) = (r for r in rows if r["variant"] == "seed 10" and r["claim"] == "C1")
    assert (one["policy"], one["value"]) == ("grpo", 0.2)
    assert tables.conform(rows, "robustness").num_rows == len(rows)


def test_a_seed_that_an_arm_lacks_and_a_claim_that_was_not_run_have_no_row():
    other = gap(8, 20, 0.2) | {"policy": "gigpo"}
    rows = judge(gap(8, 20, 0.2), *seed(0, gap(8, 20, 0.2)), other)
    found = {row["policy"]: row["variant"] for row in rows}
    assert found == {"grpo": "seed 0", "gigpo": "headline"}
    assert {row["claim"] for row in rows} == {"C1"}


def test_rows_of_one_claim_and_arm_stand_together():
    rows = [one for t in (2, 4, 6) for one in (gap(8, t, 0.1), headroom(t, 0.3))]
    rows = judge(*rows, gap(8, 20, 0.1), *seed(0, *rows, gap(8, 20, 0.1)))
    assert [(row["claim"], row["variant"]) for row in rows] == [
        (claim, variant) for claim in ("C1", "C2b", "C2c") for variant in ("headline", "seed 0")
    ][: len(rows)]
    assert verdicts(rows, "C2c") == {"headline": "holds", "seed 0": "holds"}


def test_a_seed_stands_for_its_arm_and_the_others_are_gone():
    rival = {"against": "gigpo", "metric": "between_arms"}
    rows = [gap(8, 20, 0.1), gap(8, 20, 0.1) | rival]
    base = gap(8, 20, 0.4) | {"policy": "base", "against": None, "seeds": 0}
    found = changed("seed 1", *rows, *seed(0, gap(8, 20, 0.2)), *seed(1, gap(8, 20, 0.3)), base)
    known = found.sort_values("value")[["policy", "metric", "value"]].to_numpy().tolist()
    assert known == [
        ["grpo", "between_arms", 0.1],
        ["grpo", "pass_at_k", 0.3],
        ["base", "pass_at_k", 0.4],
    ]


SPLIT = (
    step("step_win", "mixture/all", 0.1),
    step("step_win", "base/all", 0.2),
    step("step_win", "trained/all", 0.3),
    step("continuation_gap", "base/error", 0.4),
    step("continuation_both", "both/error", 0.5),
    step("pass_at_k", None, 0.6),
)


def test_one_source_of_states_stands_for_the_mixture_and_for_the_mean_of_both():
    found = changed("base states", *SPLIT)
    kept = zip(found["metric"], found["part"].fillna("none"), found["value"], strict=True)
    assert sorted(kept) == [
        ("continuation_both", "both/error", 0.4),
        ("continuation_gap", "base/error", 0.4),
        ("continuation_gap", "mixture/error", 0.4),
        ("pass_at_k", "none", 0.6),
        ("step_win", "base/all", 0.2),
        ("step_win", "mixture/all", 0.2),
        ("step_win", "trained/all", 0.3),
    ]


def test_one_definition_stands_for_all_errors():
    rows = [
        step("continuation_both", "both/error", 0.1),
        step("continuation_both", "both/loss", 0.2),
        step("continuation_both", "both/injected", 0.3),
        step("step_error_contrast", "mixture/away", 0.4),
        step("step_win", "mixture/clean", 0.5),
    ]
    names = [variant.name for variant in _variants.variants(table(*rows))]
    assert names == ["away", "loss", "injected"]
    found = changed("injected", *rows)
    errors = found.loc[found["part"].str.endswith("/error"), ["metric", "part", "value"]]
    assert errors.to_numpy().tolist() == [["continuation_both", "both/error", 0.3]]
    assert 0.5 in set(found["value"])


def test_without_estimates_of_single_seeds_or_states_only_the_headline_is_judged():
    assert [row["variant"] for row in judge(gap(8, 20, 0.2))] == ["headline"]
