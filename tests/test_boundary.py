import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from turnscope import boundary
from turnscope.boundary import Sets

counts = st.integers(0, 300)


def total(sets: Sets) -> tuple[float, ...]:
    return tuple(float(part.sum()) for part in sets)


def test_every_task_is_kept_gained_lost_or_never_solved():
    base = np.array([[3], [0], [1], [0]])
    trained = np.array([[1], [2], [0], [0]])
    assert total(boundary.of_tasks(base, trained)) == (1, 1, 1)


@pytest.mark.parametrize(
    ("gained", "lost", "p"), [(5, 1, 0.21875), (3, 3, 1), (7, 3, 0.34375), (9, 1, 0.021484375)]
)
def test_swaps_of_a_published_study_by_hand(gained, lost, p):
    assert float(boundary.mcnemar(gained, lost)) == pytest.approx(p)


@given(counts, counts)
def test_the_test_is_the_exact_binomial_one(gained, lost):
    size = gained + lost
    expected = stats.binomtest(gained, size).pvalue if size else 1.0
    assert float(boundary.mcnemar(gained, lost)) == pytest.approx(expected, rel=1e-9)


def test_support_by_hand():
    found = boundary.support(Sets(np.array(6.0), np.array(3.0), np.array(2.0)))
    assert found.srr == pytest.approx(6 / 8)
    assert found.ndr == pytest.approx(3 / 9)
    assert found.sds == pytest.approx(2 * (3 / 4) * (1 / 3) / (3 / 4 + 1 / 3))
    assert found.nscr == pytest.approx(1 / 11)


def test_what_has_no_denominator_is_undefined():
    zero, one = np.array(0.0), np.array(1.0)
    nothing = boundary.support(Sets(zero, zero, zero))
    assert np.isnan(nothing).all()
    lost = boundary.support(Sets(zero, zero, one))
    assert (lost.srr, lost.nscr) == (0, -1)
    assert np.isnan([lost.ndr, lost.sds]).all()
    kept = boundary.support(Sets(one, zero, zero))
    assert (kept.srr, kept.ndr, kept.sds, kept.nscr) == (1, 0, 0, 0)


@given(counts, counts, counts)
def test_support_stays_in_its_range(kept, gained, lost):
    found = boundary.support(Sets(*np.array([kept, gained, lost], float)))
    for name, least in (("srr", 0), ("ndr", 0), ("sds", 0), ("nscr", -1)):
        value = float(getattr(found, name))
        assert np.isnan(value) or least <= value <= 1


def relabelled(n: int, solved: int) -> tuple[float, float, float]:
    """Average over all ways to give n of 2n episodes to base."""
    ways = list(itertools.combinations(range(2 * n), n))
    base = np.array([[sum(place < solved for place in way)] for way in ways])
    found = total(boundary.of_tasks(base, solved - base))
    return tuple(part / len(ways) for part in found)  # type: ignore[return-value]


@pytest.mark.parametrize("solved", range(7))
def test_chance_is_the_mean_over_all_relabellings(solved):
    half = min(solved, 3)
    chance = boundary.by_chance(np.array([3]), np.array([[half]]), np.array([[solved - half]]))
    assert total(chance) == pytest.approx(relabelled(3, solved))


def test_equal_policies_swap_what_chance_predicts():
    rng = np.random.Generator(np.random.PCG64(1))
    chances = rng.beta(0.3, 2, 20_000)
    base, trained = (rng.binomial(8, chances)[:, None] for _ in range(2))
    found = boundary.of_tasks(base, trained)
    chance = boundary.by_chance(np.full(len(chances), 8), base, trained)
    assert chance.gained.sum() == pytest.approx(found.gained.sum(), rel=0.05)
    assert chance.lost.sum() == pytest.approx(found.lost.sum(), rel=0.05)
    assert found.gained.sum() > 1000
