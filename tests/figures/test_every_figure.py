import hashlib
import itertools
import os
import string
import subprocess
import sys

import pandas as pd
import pytest
from matplotlib.text import Text

from tests.figures import synthetic
from turnscope import registry, schemas
from turnscope.figures import _style

pytestmark = pytest.mark.filterwarnings("error")
KINDS = ("csv", "pdf", "png", "svg")
STUDIES = {
    "one arm": {},
    "one seed": {"seeds": 1},
    "four arms": {"arms": synthetic.FOUR},
    "fifteen arms": {"arms": synthetic.FIFTEEN, "seeds": 2},
    "three environments": {
        "envs": ("bfcl", "frozen_lake", "sql"),
        "arms": ("budget_mix", "grpo", "oracle_process"),
        "seeds": 1,
    },
}

SLOW = ("fifteen arms", "three environments")


@pytest.fixture(params=registry.names("figures"))
def module(request):
    return registry.load("figures", request.param)


def drawn(module, **study):
    arms = study.get("arms", ("grpo",))
    return module.data(
        synthetic.shown(module, **study),
        synthetic.training(**study),
        k=8,
        arms=synthetic.named(*arms),
        **synthetic.more(module, **study),
    )


def texts(figure):
    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]


@pytest.mark.parametrize(
    "study",
    [
        pytest.param(study, id=name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name, study in STUDIES.items()
    ],
)
def test_nothing_leaves_the_page_and_all_can_be_read(module, study):
    frame = drawn(module, **study)
    figure = module.plot(frame)
    readable(figure)
    words = [text.get_text().replace("\n", "") for text in texts(figure)]
    shown = " ".join([*words, module.caption(frame)])
    assert [arm for arm in _style.arms_of(frame) if arm not in shown] == []


def readable(figure):
    """Check that a figure keeps to its page, and that its words can be read."""
    figure.draw_without_rendering()
    assert figure.get_figwidth() in (_style.SINGLE, _style.DOUBLE)
    page = figure.bbox
    for legend in figure.legends:
        box = legend.get_window_extent()
        assert box.x1 <= page.x1
        assert box.y1 <= page.y1
    words = texts(figure)
    assert min(text.get_fontsize() for text in words) >= 7
    titles = [text for text in words if is_title(text)]
    boxes = [(text.get_text(), text.get_window_extent()) for text in titles]
    for (one, box), (other, beside) in itertools.combinations(boxes, 2):
        assert not box.overlaps(beside), (one, other)


@pytest.mark.slow
def test_environments_that_differ_in_all_stand_side_by_side(module):
    frame = synthetic.unlike(module)
    figure = module.plot(frame)
    readable(figure)
    words = [text.get_text().replace("\n", "") for text in texts(figure)]
    for env in ("deepcoder", "frozen lake"):
        assert len([word for word in words if word.startswith(f"{env} · nano")]) >= 1
    shown = " ".join([*words, module.caption(frame)])
    assert [arm for arm in _style.arms_of(frame) if arm not in shown] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["budget_auc", "budget_mix", "survival", "training_curves"])
def test_lists_of_arms_are_those_of_their_environment(name):
    module = registry.load("figures", name)
    figure = module.plot(synthetic.unlike(module))
    figure.draw_without_rendering()
    listed = [[label.get_text() for label in ax.get_yticklabels()] for ax in figure.axes]
    lists = [names for names in listed if "budget_mix" in names]
    told = ["budget_mix_told" in names for names in lists]
    assert (told[0], told[-1] or name == "budget_mix") == (False, True)
    assert "ppo" not in lists[0]


def is_title(artist):
    """Say whether it is a title of a panel or a name above several."""
    return isinstance(artist, Text) and artist.get_fontsize() == 8


def test_arms_come_in_the_order_of_the_study(module):
    arms = ("oracle_process", "budget_mix", "grpo")
    found = _style.arms_of(drawn(module, arms=arms))
    assert found == [arm for arm in arms if arm in found]


def test_without_estimates_there_is_nothing_to_draw(module):
    estimates, training = (
        table.empty_table().to_pandas() for table in (schemas.ESTIMATES, schemas.TRAINING)
    )
    more = {name: table.iloc[:0] for name, table in synthetic.more(module).items()}
    with pytest.raises(ValueError, match=module.__name__.split(".")[-1]):
        module.data(estimates, training, k=8, arms=synthetic.named(), **more)


def test_missing_numbers_leave_gaps(module):
    frame = drawn(module)
    for column in {"low", "high", "band_low", "band_high"} & set(frame.columns):
        frame[column] = float("nan")
    module.plot(frame).draw_without_rendering()


def test_the_order_of_the_rows_does_not_matter(module):
    estimates, training = synthetic.shown(module), synthetic.training()
    shuffled = estimates.sample(frac=1, random_state=1).set_index(pd.Index([0] * len(estimates)))
    more = synthetic.more(module)
    turned = {name: table[::-1] for name, table in more.items()}
    mixed = module.data(shuffled, training[::-1], k=8, arms=synthetic.named("grpo"), **turned)
    pd.testing.assert_frame_equal(
        mixed, module.data(estimates, training, k=8, arms=synthetic.named("grpo"), **more)
    )


def test_a_caption_is_whole_and_says_how_much_data_there_is(module):
    frame = drawn(module)
    caption = module.caption(frame)
    fields = {field for _, field, _, _ in string.Formatter().parse(module.CAPTION) if field}
    assert "seeds" in fields
    assert not set("{}") & set(caption)
    assert "3 training seeds" in caption
    if "tasks" in fields:
        assert "60 test tasks" in caption
        assert "16 episodes" in caption
    assert "1 training seed" in module.caption(drawn(module, seeds=1)).replace("seeds", "seed")


def test_the_table_beside_the_figure_holds_what_was_drawn(module, tmp_path):
    frame = drawn(module)
    path = tmp_path / "figure.csv"
    _style.save(module.plot(frame), frame, [path])
    again = pd.read_csv(path)
    assert list(again.columns) == list(frame.columns)
    assert again["value"].tolist() == pytest.approx(frame["value"].tolist(), nan_ok=True, abs=0)
    assert module.caption(again) == module.caption(frame)


SCRIPT = """
import sys
from pathlib import Path
from tests.figures import synthetic
from turnscope import registry
from turnscope.figures import _style
study = {"arms": ("grpo", "new", "other"), "seeds": 2}
few = {**study, "tasks": 30, "draws": 40}
for name in registry.names("figures"):
    module = registry.load("figures", name)
    frame = module.data(
        synthetic.shown(module, **few),
        synthetic.training(**study),
        k=8,
        arms=synthetic.named(*study["arms"]),
        **synthetic.more(module, **few),
    )
    paths = [Path(sys.argv[1], f"{name}.{kind}") for kind in ("csv", "pdf", "png", "svg")]
    _style.save(module.plot(frame), frame, paths)
"""


@pytest.mark.slow
def test_two_processes_with_other_hash_seeds_give_equal_bytes(tmp_path):
    digests = []
    for number in ("1", "2"):
        folder = tmp_path / number
        environment = os.environ | {
            "PYTHONHASHSEED": number,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }
        subprocess.run([sys.executable, "-c", SCRIPT, folder], check=True, env=environment)
        files = sorted(folder.iterdir())
        assert len(files) == len(KINDS) * len(registry.names("figures"))
        digests.append([hashlib.sha256(file.read_bytes()).hexdigest() for file in files])
    assert digests[0] == digests[1]
