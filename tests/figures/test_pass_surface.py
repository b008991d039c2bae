import pytest
from matplotlib.collections import QuadMesh
from matplotlib.patches import Rectangle

from tests.figures import synthetic
from turnscope.figures import pass_surface

NONE = synthetic.training(seeds=1, steps=1)
ARMS = ("grpo",)


def test_cells_are_hatched_where_the_band_covers_zero():
    frame = pass_surface.data(synthetic.estimates(), NONE, k=8, arms=synthetic.named(*ARMS))
    ax = pass_surface.plot(frame).axes[0]
    apart = (frame["band_t_low"] > 0) | (frame["band_t_high"] < 0)
    hatched = [patch for patch in ax.patches if isinstance(patch, Rectangle) and patch.get_hatch()]
    assert len(hatched) == (~apart).sum()
    ks = sorted(set(frame["k"]))
    places = {(ks[round(p.get_y() + 0.5)], round(p.get_x() + 0.5)) for p in hatched}
    assert places == set(zip(frame["k"][~apart], frame["t"][~apart], strict=True))


def test_zero_has_the_middle_colour_in_all_panels():
    frame = pass_surface.data(
        synthetic.estimates(arms=("gigpo", "grpo"), seeds=1), NONE, k=8, arms=synthetic.named(*ARMS)
    )
    meshes = [
        child
        for ax in pass_surface.plot(frame).axes
        for child in ax.get_children()
        if isinstance(child, QuadMesh)
    ]
    limits = {mesh.get_clim() for mesh in meshes[:2]}
    assert len(limits) == 1
    low, high = limits.pop()
    assert low == -high
    assert high == pytest.approx(frame["value"].abs().max())


def test_an_arm_that_was_not_run_everywhere_leaves_no_empty_map():
    estimates = synthetic.estimates(envs=("lake", "sql"), arms=("gigpo", "grpo"), seeds=1)
    frame = pass_surface.data(estimates, NONE, k=8, arms=synthetic.named("grpo", "gigpo"))
    frame = frame.loc[(frame["env"] == "lake") | (frame["policy"] == "grpo")]
    *maps, _ = pass_surface.plot(frame).axes
    assert [(ax.get_title("left"), [text.get_text() for text in ax.texts]) for ax in maps] == [
        ("grpo", ["lake · nano"]),
        ("gigpo", []),
        ("grpo", ["sql · nano"]),
    ]


def test_every_map_of_four_stands_beside_one_scale():
    frame = pass_surface.data(
        synthetic.estimates(arms=synthetic.FOUR), NONE, k=8, arms=synthetic.named(*synthetic.FOUR)
    )
    *maps, scale = pass_surface.plot(frame).axes
    assert [ax.get_title("left") for ax in maps] == list(synthetic.FOUR)
    assert scale.get_ylabel() == "lead over base"
