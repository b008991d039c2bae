import numpy as np
import pytest
from scipy import stats

from turnscope import intervals

NAN = np.nan


def generator(seed=0):
    return np.random.Generator(np.random.PCG64(seed))


def resample(units, strata, draws=50, seed=1):
    return intervals.resample(np.array(units), np.array(strata), draws, seed)


def test_each_draw_keeps_the_size_of_every_stratum():
    strata = np.array([0, 0, 0, 1, 1, 1, 1])
    weights = resample(range(7), strata)
    assert (weights[:, strata == 0].sum(axis=1) == 3).all()
    assert (weights[:, strata == 1].sum(axis=1) == 4).all()
    assert weights.std(axis=0).min() > 0


def test_tasks_of_a_cluster_enter_together():
    weights = resample([5, 5, 2, 2, 2, 9], [0] * 6)
    assert (weights[:, 0] == weights[:, 1]).all()
    assert (weights[:, 2] == weights[:, 4]).all()
    assert (weights[:, [0, 2, 5]].sum(axis=1) == 3).all()


def test_a_stratum_of_one_task_still_varies():
    assert resample(range(4), [0, 0, 0, 1])[:, 3].std() > 0
    assert resample(range(5), [0, 0, 0, 1, 2])[:, 3].std() > 0


def test_draws_depend_on_the_seed_alone():
    assert (resample(range(9), [0] * 9, seed=3) == resample(range(9), [0] * 9, seed=3)).all()
    assert (resample(range(9), [0] * 9, seed=3) != resample(range(9), [0] * 9, seed=4)).any()


def test_bootstrap_averages_what_was_drawn():
    x = np.array([[1.0, 2.0], [3.0, NAN], [5.0, 8.0]])
    weights = np.array([[1.0, 1, 1], [3, 0, 0], [0, 3, 0], [1, 2, 0]])
    means = intervals.bootstrap(x, weights)
    assert means[0] == pytest.approx([3, 1, 3, 7 / 3])
    assert means[1] == pytest.approx([5, 2, NAN, 2], nan_ok=True)


def test_quantiles_are_those_of_numpy():
    draws = generator().normal(size=(3, 1001))
    ours = intervals.quantiles(draws, (0.0, 0.025, 0.5, 0.975, 1.0))
    assert np.array(ours) == pytest.approx(np.quantile(draws, [0, 0.025, 0.5, 0.975, 1], axis=1))


def test_a_cell_with_an_undefined_draw_has_no_interval():
    assert np.isnan(intervals.percentile(np.array([[1.0, NAN, 3.0]]))).all()


def test_the_band_of_independent_cells_has_the_known_critical_value():
    draws = generator().normal(size=(1, 20, 40_000))
    bands = intervals.bands(np.zeros((1, 20)), draws)
    critical = stats.norm.ppf((1 + 0.95 ** (1 / 20)) / 2)
    assert (bands.t_high / draws.std(axis=-1)).mean() == pytest.approx(critical, abs=0.05)
    # a family of one is the pointwise interval
    assert (bands.k_high / draws.std(axis=-1)).mean() == pytest.approx(1.96, abs=0.03)


def test_cells_that_never_vary_do_not_widen_a_band():
    rng = generator()
    draws = np.stack([np.zeros(5000), rng.normal(size=5000), np.full(5000, NAN)])[None]
    bands = intervals.bands(np.array([[0.0, 0.0, NAN]]), draws)
    assert bands.t_low[0, 0] == 0.0 == bands.t_high[0, 0]
    assert bands.t_high[0, 1] == pytest.approx(1.96, abs=0.1)
    assert np.isnan(bands.t_high[0, 2])


def test_a_cell_with_an_undefined_draw_has_no_band_and_widens_no_other():
    draws = generator().normal(size=(1, 2, 5000))
    alone = intervals.bands(np.zeros((1, 1)), draws[:, 1:])
    draws[0, 0, 17] = NAN
    bands = intervals.bands(np.zeros((1, 2)), draws)
    assert np.isnan([band[0, 0] for band in bands]).all()
    assert bands.t_high[0, 1] == alone.t_high[0, 0]


def test_sign_flips_of_three_equal_differences():
    # all three signs agree in 2 of the 8 equally likely patterns
    signs = intervals.signs(np.arange(3), 20_000, 1)
    p_values = intervals.sign_flip(np.array([[1.0, 0.0, 1.0]] * 3), signs)
    assert p_values == pytest.approx([0.25, 1.0, 0.25], abs=0.01)


def test_sign_flips_leave_missing_tasks_out():
    signs = intervals.signs(np.arange(4), 20_000, 1)
    p_values = intervals.sign_flip(
        np.array([[1.0, NAN], [1.0, NAN], [NAN, NAN], [1.0, NAN]]), signs
    )
    assert p_values == pytest.approx([0.25, NAN], abs=0.01, nan_ok=True)


def test_signs_flip_a_cluster_as_a_whole():
    signs = intervals.signs(np.array([0, 0, 1]), 100, 1)
    assert (signs[:, 0] == signs[:, 1]).all()
    assert set(np.unique(signs)) == {-1.0, 1.0}


def test_student_interval_of_three_seeds():
    low, high, p_value = intervals.student(np.array([0.1, 0.2, 0.3]))
    assert (low, high) == pytest.approx((0.2 - 0.2484, 0.2 + 0.2484), abs=1e-4)
    assert p_value == pytest.approx(0.0742, abs=1e-4)


@pytest.mark.parametrize("values", [[0.1], [0.2, 0.2, 0.2]])
def test_no_spread_gives_no_interval(values):
    assert np.isnan(intervals.student(np.array(values))).all()


def test_equivalence_needs_the_interval_within_the_margin():
    draws = generator().normal(0.0, 0.01, size=(1, 10_000))
    shifted = np.concatenate([draws, draws + 0.04, draws + 0.2])
    low, high, p_values = intervals.equivalence(shifted, 0.05)
    assert (low[0], high[0]) == pytest.approx((-0.01645, 0.01645), abs=1e-3)
    assert p_values[0] < 0.001
    assert p_values[1] == pytest.approx(0.16, abs=0.02)
    assert p_values[2] > 0.99
    assert ((low > -0.05) & (high < 0.05)).tolist() == (p_values < 0.05).tolist()


def test_noninferiority_of_two_seeds():
    # one degree of freedom: the Cauchy distribution; mean 0.25, standard error 0.25
    low, high, p_value = intervals.noninferiority(np.array([0.5, 0.0]), 0.02)
    half = 0.25 * np.tan(0.45 * np.pi)
    assert (low, high) == pytest.approx((0.25 - half, 0.25 + half))
    assert p_value == pytest.approx(0.5 - np.arctan(0.27 / 0.25) / np.pi)


@pytest.mark.parametrize("values", [[0.1], [0.2, 0.2, 0.2]])
def test_no_spread_gives_no_noninferiority(values):
    assert np.isnan(intervals.noninferiority(np.array(values), 0.02)).all()


def test_noninferiority_agrees_with_its_interval_and_keeps_its_level():
    rng = generator(7)
    shown = 0
    for values in rng.normal(-0.02, 0.03, size=(2000, 3)):  # the loss is as large as the margin
        low, _, p_value = intervals.noninferiority(values, 0.02)
        assert (low > -0.02) == (p_value < 0.05)
        shown += p_value < 0.05
    # 100 of 2000 expected, standard deviation 9.7
    assert 65 <= shown <= 135


@pytest.mark.parametrize(("seeds", "tail"), [(3, 0.025), (3, 0.05), (5, 0.00625)])
def test_what_a_t_test_over_seeds_finds(seeds, tail):
    rng = generator(3)
    sd = 0.03
    half = float(stats.t.ppf(0.975, seeds - 1) * sd / np.sqrt(seeds))
    truth = intervals.detectable_over_seeds(half, seeds, tail)
    values = rng.normal(truth, sd, size=(20_000, seeds))
    t = values.mean(axis=1) / (values.std(axis=1, ddof=1) / np.sqrt(seeds))
    found = (t > stats.t.ppf(1 - tail, seeds - 1)).mean()
    assert found == pytest.approx(0.8, abs=0.012)


def test_holm_by_hand():
    assert intervals.holm(np.array([0.01, 0.04, 0.03])) == pytest.approx([0.03, 0.06, 0.06])
    assert intervals.holm(np.array([0.9, 0.8])) == pytest.approx([1.0, 1.0])


def test_wilson_intervals():
    assert intervals.wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert intervals.wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert intervals.wilson(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)


def test_a_single_interval_finds_2_8_standard_errors():
    se = intervals.standard_error(-0.196, 0.196)
    assert se == pytest.approx(0.1, abs=1e-4)
    assert intervals.detectable(-0.196, 0.196, se) == pytest.approx(0.28, abs=1e-3)


def test_a_wider_band_needs_a_larger_truth():
    # half the width of the band, and 0.84 standard errors of the estimate
    assert intervals.detectable(0.2, 0.8, 0.1) == pytest.approx(0.3 + 0.0842, abs=1e-4)


def test_half_the_power_needs_half_the_width_only():
    assert intervals.detectable(-0.3, 0.3, 0.1, power=0.5) == pytest.approx(0.3)
