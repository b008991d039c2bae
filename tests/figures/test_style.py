import os
import subprocess
import sys
from collections.abc import Sequence

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from tests.figures import synthetic
from turnscope.figures import _captions, _rows, _style


def frame_of(*policies: str, arms: Sequence[str] = ()) -> pd.DataFrame:
    rows = pd.DataFrame({"env": "lake", "model": "nano", "policy": policies})
    return _rows.placed(rows, synthetic.named(*arms))


def test_a_known_arm_keeps_its_colour_in_any_company():
    alone = _style.looks(frame_of("base", "grpo"))
    together = _style.looks(frame_of("base", "gigpo", "grpo", "a_new_arm", "grpo-s1"))
    assert alone["grpo"].colour == together["grpo"].colour == together["grpo-s1"].colour
    assert alone["base"] == together["base"]


def test_a_new_arm_takes_a_colour_that_nothing_else_has():
    looks = _style.looks(frame_of("base", "bound", "grpo", "gigpo", "mine", "yours"))
    colours = [looks[name].colour for name in ("base", "bound", "grpo", "gigpo", "mine", "yours")]
    assert len(set(colours)) == 6


def test_an_arm_looks_the_same_in_a_figure_that_shows_fewer_arms():
    arms = ("mine", "grpo", "yours", "tight_50")
    whole = _style.looks(frame_of("base", *arms, "yours-s0", arms=arms))
    few = _style.looks(frame_of("yours", arms=arms))
    assert few["yours"] == whole["yours"] == whole["yours-s0"]


@given(st.permutations([*_style.HUES, "mine", "yours", "theirs"]))
def test_up_to_fifteen_arms_differ_in_colour_and_marker(order):
    arms = order[:15]
    looks = _style.looks(frame_of(*arms, arms=arms))
    assert len({looks[arm].colour for arm in arms}) == len(arms)
    assert len({looks[arm].marker for arm in arms}) == len(arms)


def test_arms_are_in_the_order_of_the_study():
    frame = frame_of("new", "gigpo-s1", "base", "zeta", "grpo", "bound", arms=("zeta", "grpo"))
    assert frame["place"].tolist() == [4, 3, 0, 1, 2, 0]
    assert _style.arms_of(frame) == ["zeta", "grpo", "gigpo", "new"]


def test_no_more_than_four_arms_are_legible():
    frame = frame_of("base", "bound", *"abcdef", "a-s0", "e-s0")
    assert _style.legible(frame)["policy"].tolist() == ["base", "bound", *"abcd", "a-s0"]
    assert _captions.left_out(frame) == " Not shown: e, f; see budget_auc."
    assert _captions.left_out(frame_of(*"abcd")) == ""


def test_each_environment_shows_its_own_first_arms():
    arms = synthetic.named(**{name: name for name in "abcdef"})
    parts = [
        pd.DataFrame({"env": env, "model": "nano", "policy": policies})
        for env, policies in (("lake", ["base", *"abcdef"]), ("code", ["base", *"ae"]))
    ]
    frame = _rows.placed(pd.concat(parts, ignore_index=True), arms)
    shown = _style.legible(frame)
    assert shown.loc[shown["env"] == "lake", "policy"].tolist() == ["base", *"abcd"]
    assert shown.loc[shown["env"] == "code", "policy"].tolist() == ["base", *"ae"]
    assert _captions.left_out(frame) == " Not shown: e (lake, nano), f; see budget_auc."


def test_what_was_not_run_is_named():
    assert _captions.not_run(["a", "c"]) == " Not run here: a, c."
    assert _captions.not_run([]) == ""


def test_arms_that_are_shown_otherwise_than_they_were_trained_are_named():
    assert _captions.played_blind(frame_of("base", "grpo", arms=["grpo"])) == ""
    arms = ["a_told", "grpo", "b_told"]
    one, two = frame_of("a_told-s0", arms=arms), frame_of("base", *arms, arms=arms)
    blind = " a_told is played blind here, without the turns left it was trained with."
    assert _captions.played_blind(one) == blind
    assert " a_told, b_told are played blind here, without the" in _captions.played_blind(two)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("a", "m")], (1, 1, _style.SINGLE)),
        ([("a", "m"), ("b", "m")], (1, 2, _style.DOUBLE)),
        ([("a", "m"), ("b", "m"), ("c", "m"), ("d", "m")], (2, 3, _style.DOUBLE)),
        ([("a", "m"), ("a", "n")], (2, 1, _style.SINGLE)),
        ([(e, m) for m in "mn" for e in "abcd"], (2, 4, _style.DOUBLE)),
    ],
)
def test_panels_are_laid_out_a_row_for_each_model(pairs, expected):
    assert _style.shape(pairs) == expected


def test_numbers_are_written_with_their_noun():
    assert _captions.counted([3, 3], "training seed") == "3 training seeds"
    assert _captions.counted([1], "training seed") == "1 training seed"
    assert _captions.counted([500, 120, 500], "test task") == "120 to 500 test tasks"
    assert _captions.counted([], "episode") == "an unknown number of episodes"


def test_an_unknown_kind_of_file_is_refused_before_anything_is_written(tmp_path):
    paths = [tmp_path / "figure.png", tmp_path / "figure.bmp"]
    with pytest.raises(ValueError, match="'bmp'; known: csv, pdf, png, svg"):
        _style.save(Figure(), pd.DataFrame(), paths)
    assert list(tmp_path.iterdir()) == []


def test_the_callers_settings_do_not_change_a_figure():
    import matplotlib as mpl

    plot = _style.styled(lambda frame: Figure(figsize=(1, 1)))
    with mpl.rc_context({"figure.facecolor": "red", "font.size": 30}):
        figure = plot(pd.DataFrame())
        assert mpl.rcParams["font.size"] == 30
    assert figure.get_facecolor() == (1, 1, 1, 1)


SCRIPT = """
import sys
from pathlib import Path
import pandas as pd
from matplotlib.figure import Figure
from turnscope.figures import _captions, _rows, _style

@_style.styled
def plot(frame):
    figure = Figure(figsize=(1, 1), layout="constrained")
    figure.subplots().plot([0, 1, 0.5], label="a line")
    _style.legend(figure, [_style.key("a line", _style.Look("#123456", ""))])
    return figure

paths = [Path(sys.argv[1], f"figure.{kind}") for kind in ("pdf", "png", "svg")]
_style.save(plot(pd.DataFrame()), pd.DataFrame(), paths)
"""
USER = """
savefig.facecolor: red
savefig.bbox: tight
savefig.transparent: True
svg.image_inline: False
path.snap: False
path.simplify_threshold: 0.9
pdf.compression: 0
figure.constrained_layout.h_pad: 0.3
axes.unicode_minus: False
"""


def test_a_users_matplotlibrc_does_not_change_a_figure(tmp_path):
    files = {}
    for name, settings in (("plain", ""), ("user", USER)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "matplotlibrc").write_text(settings)
        environment = os.environ | {
            "MATPLOTLIBRC": str(folder / "matplotlibrc"),
            "PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path if path),
        }
        command = [sys.executable, "-c", SCRIPT, str(folder)]
        subprocess.run(command, check=True, env=environment, cwd=folder)
        files[name] = {path.name: path.read_bytes() for path in folder.glob("figure.*")}
    assert len(files["plain"]) == 3
    assert files["user"] == files["plain"]
