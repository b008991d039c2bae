import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import simulated
from tests.metrics.by_hand import SETTINGS, cell, progress, tasks
from turnscope import draws, intervals, schemas, tables
from turnscope.metrics import Settings
from turnscope.metrics._visits import Ratio
from turnscope.metrics.step_reward import estimate, split

HAND = pd.concat(
    [
        progress("grpo-s0", 0, "a", [([0.2, 0.4], True), ([0.6] * 4, False)], {0: [0.2, 0.4]}),
        progress("grpo-s0", 0, "a", [], {1: [0.6, 0.6]}),
        progress("grpo-s0", 0, "b", [([0.1] * 4, False), ([0.3] * 4, False)], {2: [0.0, 0.3]}),
        progress("grpo-s0", 10, "a", [([0.8], True), ([0.8], True)], {0: [0.4, 0.4]}),
        progress("grpo-s0", 10, "a", [], {1: [0.6, 0.6]}),
        progress("grpo-s0", 10, "b", [([0.3] * 4, False), ([0.3, 0.3], True)], {2: [0.2, 0.2]}),
    ],
    ignore_index=True,
)
LEVELS = ["r_multi", "r_single", "r_single_task", "r_single_first", "r_single_probe"]


def by_hand():
    return estimate(tasks("abc"), HAND, SETTINGS)


@pytest.mark.parametrize(
    ("metric", "base", "later"),
    [
        ("r_multi", 1 / 4, 3 / 4),
        ("r_single", 4.6 / 14, 3.4 / 8),
        ("r_single_task", (0.5 + 0.2) / 2, (0.8 + 0.3) / 2),
        ("r_single_first", (0.4 + 0.2) / 2, (0.8 + 0.3) / 2),
        ("r_single_probe", (0.3 + 0.6 + 0.15) / 3, (0.4 + 0.6 + 0.2) / 3),
    ],
)
def test_levels_and_changes_by_hand(metric, base, later):
    found = by_hand()
    assert cell(found, metric, "grpo-s0", k=None, t=0)["value"] == pytest.approx(base)
    assert cell(found, metric, "grpo-s0", k=None, t=10)["value"] == pytest.approx(later)
    change = cell(found, f"{metric}_change", "grpo-s0", against="base", k=None, t=10)
    assert change["value"] == pytest.approx(later - base)
    assert change["low"] <= change["value"] <= change["high"]
    assert (change["tasks"], change["seeds"]) == (2, 1)


def test_the_split_by_hand():
    # shares of visits before and after, and qualities before and after, of each cell on both sides
    both = [
        (2 / 14, 2 / 8, 0.4, 0.8),  # a, first state
        (2 / 14, 2 / 8, 0.2, 0.3),  # b, first to last
        (2 / 14, 2 / 8, 0.2, 0.3),
        (2 / 14, 1 / 8, 0.2, 0.3),
        (2 / 14, 1 / 8, 0.2, 0.3),
    ]
    gone = 2 / 14 * 0.5 + 1 / 14 * 0.6 + 1 / 14 * 0.6  # a, second to last state: only before
    within = sum((p + q) / 2 * (y - x) for p, q, x, y in both)
    composition = sum((q - p) * (x + y) / 2 for p, q, x, y in both) - gone
    found = by_hand()
    parts = [
        cell(found, f"r_single_{part}", "grpo-s0", against="base", t=10)["value"]
        for part in ("composition", "within")
    ]
    assert parts == pytest.approx([composition, within])
    assert sum(parts) == pytest.approx(3.4 / 8 - 4.6 / 14)


def test_other_states_at_the_same_task_and_turn_are_composition():
    # an action is worth 0.2 in state x and 0.9 in state y, at both steps
    worth = {"x": 0.2, "y": 0.9}

    def at(step, *paths):
        played = [([worth[state] for state in path], True) for path in paths]
        return progress("grpo-s0", step, "a", played, states=paths)

    found = estimate(tasks("a"), pd.concat([at(0, "xx", "xy"), at(5, "yx", "yyy")]), SETTINGS)
    change, composition, within = (
        cell(found, f"r_single_{part}", "grpo-s0", against="base", t=5)["value"]
        for part in ("change", "composition", "within")
    )
    assert change == pytest.approx((0.2 + 4 * 0.9) / 5 - (3 * 0.2 + 0.9) / 4)
    assert within == pytest.approx(0, abs=1e-12)
    assert composition == pytest.approx(change)


def test_a_better_action_in_the_same_state_is_within_at_whatever_turn():
    def at(step, quality, turns):
        path = "x" * turns
        return progress("grpo-s0", step, "a", [([quality] * turns, True)], states=[path])

    found = estimate(tasks("a"), pd.concat([at(0, 0.2, 1), at(5, 0.5, 3)]), SETTINGS)
    parts = [
        cell(found, f"r_single_{part}", "grpo-s0", against="base", t=5)["value"]
        for part in ("composition", "within")
    ]
    assert parts == pytest.approx([0, 0.3])


def test_a_state_of_another_task_is_another_state():
    def at(step, one, other):
        return pd.concat(
            progress("grpo-s0", step, task, [([quality] * turns, True)], states=["x" * turns])
            for task, (quality, turns) in zip("ab", (one, other), strict=True)
        )

    found = estimate(
        tasks("ab"), pd.concat([at(0, (0.2, 1), (0.8, 3)), at(5, (0.2, 3), (0.8, 1))]), SETTINGS
    )
    within = cell(found, "r_single_within", "grpo-s0", against="base", t=5)["value"]
    assert within == pytest.approx(0, abs=1e-12)


def test_there_is_no_change_at_step_0():
    found = by_hand()
    assert set(found.loc[found["against"].notna(), "t"]) == {10}
    assert set(found.loc[found["against"].isna(), "metric"]) == set(LEVELS)
    assert tables.conform(found, "estimates").num_rows == len(found)


def test_samples_are_episodes_or_actions():
    found = by_hand()
    assert cell(found, "r_multi", "grpo-s0", t=0)["samples"] == 2
    assert cell(found, "r_single_probe", "grpo-s0", t=0)["samples"] == 2


def test_an_arm_pools_the_turns_of_its_seeds():
    other = pd.concat(
        [
            progress("grpo-s1", 0, "a", [([0.0], True)]),
            progress("grpo-s1", 0, "b", [([1.0] * 3, True)]),
            progress("grpo-s1", 20, "a", [([0.0], True)]),
        ]
    )
    found = estimate(tasks("ab"), pd.concat([HAND, other]), SETTINGS)
    assert cell(found, "r_single", "grpo", t=0)["value"] == pytest.approx((4.6 + 3) / (14 + 4))
    assert cell(found, "r_single", "grpo", t=0)["seeds"] == 2
    # a is 1/2 and 1, b is 0 and 1
    assert cell(found, "r_multi", "grpo", t=0)["value"] == pytest.approx((0.75 + 0.5) / 2)
    # the second seed has no step 10 and the first no step 20
    assert set(found.loc[found["policy"] == "grpo", "t"]) == {0}
    # and no probes
    assert "r_single_probe" not in set(found.loc[found["policy"] == "grpo", "metric"])


def test_episodes_in_which_the_environment_failed_are_left_out():
    broken = pd.concat([HAND, progress("grpo-s0", 0, "c", [([0.9, 0.9], None)])])
    found = estimate(tasks("abc"), broken, SETTINGS)
    pd.testing.assert_frame_equal(
        found[["metric", "t", "value", "tasks"]], by_hand()[["metric", "t", "value", "tasks"]]
    )


def test_without_a_step_quality_there_is_success_alone():
    found = estimate(tasks("ab"), HAND.assign(quality=np.nan), SETTINGS)
    assert set(found["metric"]) == {"r_multi", "r_multi_change"}


def test_without_training_there_is_nothing():
    empty = schemas.PROGRESS.empty_table().to_pandas()
    assert tables.conform(estimate(tasks("ab"), empty, SETTINGS), "estimates").num_rows == 0


def test_tasks_are_drawn_with_sums_and_counts():
    rng = np.random.Generator(np.random.PCG64(2))
    names = "abcdefgh"
    parts, sums = [], []
    for name in names:
        qualities = rng.random(rng.integers(1, 5)).tolist()
        parts.append(progress("grpo-s0", 0, name, [(qualities, True)]))
        sums.append((np.sum(qualities), len(qualities)))
    found = estimate(tasks(names), pd.concat(parts), SETTINGS)
    seed = draws.seed(SETTINGS.seed, "bootstrap", "lake", "nano")
    weights = intervals.resample(np.arange(8), np.zeros(8, int), SETTINGS.draws, seed)
    total, count = weights @ np.array(sums).T[0], weights @ np.array(sums).T[1]
    one = cell(found, "r_single", "grpo-s0", t=0)
    expected = np.quantile(total / count, [0.025, 0.975])
    assert (one["low"], one["high"]) == pytest.approx(tuple(expected))


def waiting(hazard: float, t_max: int, episodes: int) -> np.ndarray:
    """Spread episodes over their solve turns as a constant hazard does; above t_max is never."""
    ranks = (np.arange(episodes) + 0.5) / episodes
    solved_at = np.ceil(np.log1p(-ranks) / np.log1p(-hazard))
    return np.minimum(solved_at, t_max + 1).astype(int)


def test_survivorship_alone_raises_success_and_lowers_quality():
    # no action gets better or worse; what is easy ends earlier
    t_max, episodes, parts = 10, 1000, []
    for step, hazards in ((0, (0.10, 0.01)), (5, (0.60, 0.03))):
        for task, hazard, quality in zip("eh", hazards, (0.8, 0.3), strict=True):
            played = [
                ([quality] * min(at, t_max), bool(at <= t_max))
                for at in waiting(hazard, t_max, episodes)
            ]
            probed = {0 if task == "e" else 1: [quality] * 16}
            parts.append(progress("grpo-s0", step, task, played, probed, t_max))
    found = estimate(tasks("eh"), pd.concat(parts), SETTINGS)
    values = {
        name: cell(found, name, "grpo-s0", against="base", t=5)["value"]
        for name in (
            *(f"{level}_change" for level in LEVELS),
            "r_single_composition",
            "r_single_within",
        )
    }
    assert values["r_multi_change"] == pytest.approx(0.258, abs=1e-3)
    assert values["r_single_change"] == pytest.approx(-0.123, abs=1e-3)
    assert values["r_single_within"] == pytest.approx(0, abs=1e-12)
    assert values["r_single_composition"] == pytest.approx(values["r_single_change"])
    for name in ("r_single_task_change", "r_single_first_change", "r_single_probe_change"):
        assert values[name] == pytest.approx(0, abs=1e-12)


def cells(seed: int, same_visits: bool, same_quality: bool) -> Ratio:
    """Draw the visits of 6 tasks at two steps."""
    rng = np.random.Generator(np.random.PCG64(seed))
    counted = rng.integers(0, 4, (6, 2, 4)).astype(float)
    quality = rng.random((6, 2, 4))
    if same_visits:
        counted[:, 1] = counted[:, 0]
    if same_quality:
        quality[:, 1] = quality[:, 0]
    counted[0] += 1.0
    return Ratio(counted * quality, counted)


@given(st.integers(0, 10_000))
def test_the_parts_sum_to_the_change(seed):
    one = cells(seed, same_visits=False, same_quality=False)
    weights = intervals.resample(np.arange(6), np.zeros(6, int), 20, seed)
    weights[:, 0] += 1
    for found in (split(one), split(one, weights)):
        assert found.composition + found.within == pytest.approx(found.change)
    assert split(one, np.ones((1, 6))).within[:, 0] == pytest.approx(split(one).within)
    assert split(one).change[0] == 0


@given(st.integers(0, 10_000))
def test_each_part_is_blind_to_the_other(seed):
    acts = split(cells(seed, same_visits=True, same_quality=False))
    assert acts.composition[1] == pytest.approx(0, abs=1e-12)
    goes = split(cells(seed, same_visits=False, same_quality=True))
    assert goes.within[1] == pytest.approx(0, abs=1e-12)


@pytest.mark.slow
def test_intervals_of_a_ratio_cover_the_truth():
    covered, replications = 0, 300
    for seed in range(replications):
        rng = np.random.Generator(np.random.PCG64(seed))
        # the better the actions at a task, the fewer its turns
        quality = rng.random((80, 1))
        counted = rng.poisson(1 + 8 * (1 - quality)).astype(float)
        weights = intervals.resample(np.arange(80), np.zeros(80, int), 500, seed)
        low, high = intervals.percentile(Ratio(quality * counted, counted).draws(weights))
        truth = (1 / 2 + 8 * (1 / 2 - 1 / 3)) / (1 + 8 / 2)
        covered += low[0] <= truth <= high[0]
    assert 0.905 < covered / replications < 0.985


def test_trained_policies_rise_along_the_steps():
    test_tasks, _ = simulated.study(1, tasks=20, episodes=1)
    settings = Settings(ks=[1], k=1, shares=[1.0], draws=200, seed=1)
    found = estimate(test_tasks, simulated.progress(1, test_tasks), settings)
    for policy in ("grpo", "other-s1"):
        for metric in ("r_multi_change", "r_single_change", "r_single_probe_change"):
            halfway, last = (cell(found, metric, policy, against="base", t=t) for t in (10, 20))
            assert 0 < halfway["value"] < last["value"]
            assert last["low"] > 0
