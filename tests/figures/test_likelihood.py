import functools
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests import likely
from tests.figures.synthetic import FOUR, named
from tests.metrics.by_hand import SETTINGS, tasks
from turnscope.figures import _style, llr, nll
from turnscope.metrics.likelihood import BIN, estimate

NONE = pd.DataFrame()
NAMES = tuple(f"t{number:02d}" for number in range(12))


@functools.cache
def scored(*arms: str) -> pd.DataFrame:
    policies = {f"{arm}-s{seed}": 0.5 + 0.2 * seed for arm in arms for seed in range(2)}
    return estimate(tasks(NAMES), likely.rows(1, NAMES, policies), SETTINGS)


def drawn(module, *arms: str):
    return module.data(scored(*arms), NONE, k=8, arms=named(*arms))


def broken() -> pd.DataFrame:
    """Check `signed` of one seed failed."""
    rows = scored("grpo").copy()
    rows.loc[
        (rows["metric"] == "sanity_signed_passed") & (rows["policy"] == "grpo-s1"), "value"
    ] = 0
    where = (rows["metric"] == "sanity_signed") & (rows["policy"] == "grpo-s1")
    rows.loc[where, ["value", "low", "high"]] = 0.004, 0.003, 0.005
    return rows


@pytest.mark.parametrize(("module", "name"), [(nll, "nll"), (llr, "llr")])
def test_a_failed_check_is_told_in_place_of_the_figure(module, name, tmp_path):
    frame = module.data(broken(), NONE, k=8, arms=named("grpo"))
    assert frame.columns.tolist() == module.COLUMNS
    shown = frame[["metric", "policy", "value", "low", "high"]]
    assert shown.to_numpy().tolist() == [["sanity_signed", "grpo-s1", 0.004, 0.003, 0.005]]
    why = (
        f"Figure {name} is not drawn: sanity check signed of grpo-s1 (lake, nano) failed: "
        "value 0.004 [0.003, 0.005]; see table sanity."
    )
    figure = module.plot(frame)
    assert figure.axes == []
    assert [text.get_text().replace("\n", " ") for text in figure.texts] == [why]
    files = [tmp_path / f"{name}.{kind}" for kind in ("csv", "svg")]
    _style.save(figure, frame, files)
    box = figure.texts[0].get_window_extent()
    assert 0 < box.x0 < box.x1 < figure.bbox.x1
    assert 0 < box.y0 < box.y1 < figure.bbox.y1
    assert module.caption(pd.read_csv(files[0])) == why


@pytest.mark.parametrize("module", [nll, llr])
def test_several_failed_checks_are_all_in_the_table(module):
    rows = broken()
    rows.loc[(rows["metric"] == "sanity_episode_passed") & (rows["policy"] == "grpo"), "value"] = 0
    frame = module.data(rows, NONE, k=8, arms=named("grpo"))
    assert set(frame["metric"]) == {"sanity_signed", "sanity_episode"}
    assert "sanity check episode of grpo (lake, nano) failed: value " in module.caption(frame)
    assert " (1 more failed); see table sanity." in module.caption(frame)


@pytest.mark.parametrize("module", [nll, llr])
def test_a_check_that_could_not_be_made_stops_nothing(module):
    rows = scored("grpo").copy()
    rows.loc[rows["metric"] == "sanity_signed_passed", "value"] = np.nan
    found = module.data(rows, NONE, k=8, arms=named("grpo"))
    pd.testing.assert_frame_equal(found, drawn(module, "grpo"))


@pytest.mark.parametrize("module", [nll, llr])
def test_four_arms_have_their_own_colours(module):
    figure = module.plot(drawn(module, *FOUR))
    figure.draw_without_rendering()
    (legend,) = figure.legends
    labels = " ".join(text.get_text() for text in legend.get_texts())
    assert all(arm in labels for arm in FOUR)
    assert len(figure.axes) == (2 if module is nll else 8)


def test_histograms_and_tails_are_those_of_the_table():
    frame = drawn(nll, "grpo")
    left, right = nll.plot(frame).axes
    bars: Any = left.patches[0]
    shares, edges, _ = bars.get_data()
    bins = frame.query("metric == 'nll_density' and policy == 'base'").set_index("t")["value"]
    wanted = bins.reindex(range(len(shares)), fill_value=0.0)
    assert shares.tolist() == pytest.approx(wanted.tolist())
    assert np.diff(edges) == pytest.approx(BIN)
    tail: Any = next(line for line in right.lines if line.get_color() == _style.BASE).get_ydata()
    assert tail[0] == pytest.approx(1.0)
    assert tail[2] == pytest.approx(BIN * bins[bins.index >= 2].sum())
    means = {line.get_color(): np.asarray(line.get_xdata())[0] for line in left.lines}
    assert means[_style.BASE] == frame.query("metric == 'nll' and policy == 'base'")["value"].item()


def test_the_mean_of_every_policy_lies_on_the_axis():
    rows = scored("grpo").copy()
    far = (rows["metric"] == "nll") & (rows["policy"] == "grpo")
    rows.loc[far, "value"] = 30.0
    left, _ = nll.plot(nll.data(rows, NONE, k=8, arms=named("grpo"))).axes
    assert left.get_xlim()[1] > 30


def test_many_bins_are_joined():
    far = likely.rows(1, NAMES, {"grpo-s0": 0.5})
    far["logp_base"] *= 30
    rows = estimate(tasks(NAMES), far, SETTINGS)
    rows = rows.loc[~rows["metric"].str.startswith("sanity_")]  # no policy has such scores
    frame = nll.data(rows, NONE, k=8, arms=named("grpo"))
    bars: Any = nll.plot(frame).axes[0].patches[0]
    shares, edges, _ = bars.get_data()
    assert len(shares) <= nll.MOST_BARS
    assert np.diff(edges)[0] > BIN


def test_fans_start_at_nothing_and_end_at_the_quartiles():
    frame = drawn(llr, "grpo")
    left, right = llr.plot(frame).axes
    for ax, subset in ((left, "success"), (right, "failure")):
        lines = [line for line in ax.lines if np.size(line.get_xdata()) > 2]
        for line, actor in zip(lines, ("base", "trained"), strict=True):
            part = frame.loc[
                (frame["part"] == f"{actor}/{subset}") & (frame["metric"] == "llr_path_q50")
            ]
            assert np.asarray(line.get_ydata()).tolist() == [0.0, *part["value"]]
    assert left.get_title("right") == "solved episodes"


def test_captions_hold_the_statistics_of_the_claims():
    ratio = scored("grpo").query("metric == 'nll_ratio' and policy == 'grpo'")["value"].item()
    assert f"grpo {ratio:.2f} [" in nll.caption(drawn(nll, "grpo"))
    gap = scored("grpo").query("metric == 'llr_gap' and policy == 'grpo'")["value"].item()
    assert f"grpo {gap:+.2f} [" in llr.caption(drawn(llr, "grpo"))
