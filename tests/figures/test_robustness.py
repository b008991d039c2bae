import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from tests.figures import synthetic
from turnscope.figures import robustness
from turnscope.schemas import ESTIMATES, TRAINING

NOTHING, NO_CURVES = (schema.empty_table().to_pandas() for schema in (ESTIMATES, TRAINING))
HERE = {"env": "lake", "model": "nano", "policy": "grpo", "value": 0.1, "low": 0.0, "high": 0.2}
WAYS = {
    "injected": "holds",
    "loss": "contradicted",
    "seed 10": "holds",
    "trained states": "inconclusive",
    "headline": "inconclusive",
    "seed 2": "contradicted",
}


def drawn(*rows: dict, arms: tuple[str, ...] = ("grpo",)) -> pd.DataFrame:
    table = pd.DataFrame([HERE | row for row in rows])
    return robustness.data(NOTHING, NO_CURVES, k=8, arms=synthetic.named(*arms), robustness=table)


def ways(claim: str = "C3c", **where: str) -> list[dict]:
    return [
        {"claim": claim, "variant": name, "verdict": found} | where for name, found in WAYS.items()
    ]


def test_the_headline_stands_first_then_seeds_sources_and_errors():
    (ax,) = robustness.plot(drawn(*ways())).axes
    names = [label.get_text() for label in ax.get_xticklabels()]
    assert names == ["headline", "seed 2", "seed 10", "trained states", "loss", "injected"]


def test_every_cell_has_the_colour_and_the_sign_of_its_verdict():
    (ax,) = robustness.plot(drawn(*ways(), *ways("C1")[3:])).axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["C1", "C3c"]
    signs = {text.get_position(): text.get_text() for text in ax.texts if len(text.get_text()) == 1}
    cells = {
        (round(patch.get_x() + 0.46), round(patch.get_y() + 0.46)): to_hex(patch.get_facecolor())
        for patch in ax.patches
        if isinstance(patch, Rectangle)
    }
    expected = ["inconclusive", "contradicted", "holds", "inconclusive", "contradicted", "holds"]
    for x, verdict in enumerate(expected):
        assert (signs[x, 1], cells[x, 1]) == robustness.LOOKS[verdict]
    assert sorted(place for place in signs if place[1] == 0) == [(0, 0), (1, 0), (3, 0)]


def test_every_arm_has_its_own_panel_with_the_ways_it_was_judged():
    rows = [*ways(), {"claim": "C1", "variant": "headline", "verdict": "holds", "policy": "ppo"}]
    first, second = robustness.plot(drawn(*rows, arms=("ppo", "grpo"))).axes
    assert (first.get_title(loc="left"), second.get_title(loc="left")) == ("ppo", "grpo")
    assert len(first.get_xticklabels()) == 1
    assert len(second.get_xticklabels()) == 6


def test_the_caption_counts_the_seeds_that_were_judged_alone():
    assert "2 training seeds" in robustness.caption(drawn(*ways()))
    one = {"claim": "C1", "variant": "seed 0", "verdict": "holds"}
    assert "over 1 training seed." in robustness.caption(drawn(one))


def test_without_verdicts_there_is_nothing_to_draw():
    with pytest.raises(ValueError, match="robustness"):
        drawn()
