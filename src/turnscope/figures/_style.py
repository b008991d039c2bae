"""What all figures share: sizes, type, the colour of each policy, panels, saving.

A colour and a marker mean the same policy in every figure: grey-black is the base model, light grey
is what no policy can pass. Every arm has its own pair; the first hues are colour-blind safe alone.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from turnscope.arms import arm_of
from turnscope.atomic import replacing

SINGLE, DOUBLE = 3.3, 6.9
"""Widths of one and of two columns of a journal page, inches."""
BASE, BOUND, FAINT = "#3a3a3a", "#9c9c9c", "#dcdcdc"
HUES = {
    "grpo": "#0173b2",
    "gigpo": "#de8f05",
    "oracle_process": "#cc78bc",
    "budget_mix": "#d55e00",
    "ppo": "#029e73",
    "ppo_turn": "#00605a",
    "budget_mix_told": "#882255",
    "speed_shaped": "#56b4e9",
    "tight_25": "#c9c04f",
    "tight_50": "#999933",
    "tight_75": "#5d5d12",
    "curriculum_tti": "#332288",
    "curriculum_scaling": "#8479d6",
    "grpo_matched": "#0b3c5d",
    "anytime": "#a5673f",
}
"""Arms that keep their hue in every study; the markers tell related hues apart."""
STRANGERS = (
    "#44aa99",
    "#cc6677",
    "#6699cc",
    "#aa4499",
    "#ddaa33",
    "#117733",
    "#661100",
    "#4477aa",
    "#997700",
    "#ee8866",
    "#77aadd",
    "#99ddff",
    "#aa3377",
    "#225555",
    "#bbcc33",
)
"""Hues of other arms, by their place in the study."""
MARKERS = "osD^vPXhp<>*d8H"
LEGIBLE = 4
"""Most arms whose curves can be told apart in one panel."""
TYPE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "legend.columnspacing": 1.2,
    "mathtext.fontset": "dejavusans",
    "axes.linewidth": 0.6,
    "axes.edgecolor": "#555555",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#ececec",
    "grid.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.2,
    "hatch.linewidth": 0.5,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "turnscope",
    "figure.dpi": 300,
    "figure.constrained_layout.w_pad": 0.06,
    "savefig.dpi": 300,
}
NO_DATES = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}
T_MAX = r"T$_{\mathrm{max}}$"


class Look(NamedTuple):
    """How a policy is drawn."""

    colour: str
    marker: str


@contextmanager
def _type() -> Iterator[None]:
    """Set the type of this module, and matplotlib's own defaults for the rest.

    A user's matplotlibrc may change any setting, also one that counts only when a file is written.
    """
    with mpl.rc_context(mpl.rcParamsDefault), mpl.rc_context(TYPE):
        yield


def styled(plot: Callable[[pd.DataFrame], Figure]) -> Callable[[pd.DataFrame], Figure]:
    """Draw with the type of this module, whatever the caller's settings."""

    @wraps(plot)
    def wrapped(frame: pd.DataFrame) -> Figure:
        with _type():
            return plot(frame)

    return wrapped


def told_of(frame: pd.DataFrame) -> list[str]:
    """List the arms of a frame that are trained seeing the turns left."""
    return arms_of(frame.loc[frame["trained"] == "told"])


def looks(frame: pd.DataFrame) -> dict[str, Look]:
    """Assign colours and markers, the same for an arm and all its seeds in all figures.

    Args:
        frame: Rows with `policy` and `place`.

    Returns:
        A look for each policy, and for the arm of each policy; `base` and `bound` are neutral.
    """
    table = {"base": Look(BASE, "o"), "bound": Look(BOUND, "|")}
    pairs = frame.loc[:, ["policy", "place"]].drop_duplicates()
    for policy, place in pairs.sort_values(["place", "policy"]).itertuples(index=False):
        if place > 0:
            arm = arm_of(str(policy))
            hue = HUES[arm] if arm in HUES else STRANGERS[(place - 1) % len(STRANGERS)]
            look = Look(hue, MARKERS[(place - 1) % len(MARKERS)])
            table |= {arm: look, str(policy): look}
    return table


def arms_of(frame: pd.DataFrame) -> list[str]:
    """List the arms of a frame in the order of the study."""
    pairs = frame.loc[frame["place"] > 0, ["place", "policy"]].sort_values("place")
    return list(dict.fromkeys(pairs["policy"].map(arm_of)))


def policies_of(frame: pd.DataFrame) -> list[str]:
    """List base and the arms that have rows of their own, in the order of the study."""
    return [name for name in ["base", *arms_of(frame)] if name in set(frame["policy"])]


def legible(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the first arms of each panel, no more than curves can be told apart."""
    kept, arms = np.zeros(len(frame), bool), frame["policy"].map(arm_of)
    for panel in panels(frame):
        here = _in(frame, panel)
        some = ["base", "bound", *arms_of(frame.loc[here])[:LEGIBLE]]
        kept |= (here & arms.isin(some)).to_numpy()
    return frame.loc[kept]


def panels(frame: pd.DataFrame) -> list[tuple[str, str]]:
    """List the pairs of environment and model, model by model."""
    pairs = frame.loc[:, ["model", "env"]].drop_duplicates().sort_values(["model", "env"])
    return [(env, model) for model, env in pairs.itertuples(index=False)]


def within(frame: pd.DataFrame, panel: tuple[str, str]) -> pd.DataFrame:
    """Select the rows of one panel."""
    return frame.loc[_in(frame, panel)]


def _in(frame: pd.DataFrame, panel: tuple[str, str]) -> pd.Series:
    return (frame["env"] == panel[0]) & (frame["model"] == panel[1])


def shape(pairs: list[tuple[str, str]]) -> tuple[int, int, float]:
    """Lay panels out: a row for each model, or lines of three when there is one model.

    Returns:
        Rows, columns, and the width of the figure in inches.
    """
    models = len({model for _, model in pairs})
    columns = min(len({env for env, _ in pairs}), 4) if models > 1 else min(len(pairs), 3)
    return -(-len(pairs) // columns), columns, SINGLE if columns == 1 else DOUBLE


def name_panel(ax: Axes, panel: tuple[str, str]) -> None:
    """Title a panel with its environment and model."""
    ax.set_title(f"{panel[0].replace('_', ' ')} · {panel[1]}")


def name_block(ax: Axes, panel: tuple[str, str]) -> None:
    """Write environment and model above panels that have titles of their own."""
    place = {"xycoords": "axes fraction", "xytext": (0, 17), "textcoords": "offset points"}
    name = f"{panel[0].replace('_', ' ')} · {panel[1]}"
    ax.annotate(name, (0, 1), fontsize=8, fontweight="bold", **place)  # type: ignore[arg-type]


def interval(ax: Axes, row: Mapping[Hashable, Any], y: float, **line: object) -> None:
    """Draw the interval of an estimate along the horizontal axis, if it has one."""
    ends = [row["low"], row["high"]]
    if not pd.isna(ends).any():
        ax.plot(ends, [y, y], solid_capstyle="butt", **line)  # type: ignore[arg-type]


def key(label: str, look: Look, **line: object) -> Line2D:
    """Return a legend entry."""
    return Line2D([], [], color=look.colour, label=label, **line)  # type: ignore[arg-type]


def legend(figure: Figure, entries: list) -> None:
    """Put one legend above all panels, in as many columns as fit."""
    if not entries:
        return
    widths = [0.42 + 0.058 * len(entry.get_label()) for entry in entries]
    lines, columns = 1, [[width] for width in widths]
    while sum(map(max, columns)) > figure.get_figwidth() and len(columns) > 1:
        lines += 1
        columns = [widths[i : i + lines] for i in range(0, len(widths), lines)]
    figure.legend(handles=entries, loc="outside upper left", ncols=len(columns))


def signed(value: float, _: object = None) -> str:
    """Write a difference on an axis, with its sign."""
    return "0" if abs(value) < 1e-9 else f"{value:+.2g}".replace("-", "−")


def save(figure: Figure, frame: pd.DataFrame, paths: Iterable[Path]) -> None:
    """Write a figure and what it draws; equal runs give equal bytes.

    Args:
        figure: Result of `plot`.
        frame: Result of `data`, from which it was drawn.
        paths: Files to write, each whole or not at all; the suffix says what:
            `.pdf`, `.svg`, `.png` or `.csv`.

    Raises:
        ValueError: Another suffix.
    """
    kinds = {path.suffix[1:]: path for path in sorted(paths)}
    if unknown := sorted(set(kinds) - {*NO_DATES, "csv"}):
        raise ValueError(f"figure: cannot write {unknown[0]!r}; known: csv, pdf, png, svg")
    with _type():
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # one layout for all files
        for ax in figure.axes:  # whose last bits may differ between runs
            box = ax.get_position()
            ax.set_position(box.from_extents(*np.round(box.extents, 9)))
    for kind, path in kinds.items():
        with replacing(path) as draft, _type():
            if kind == "csv":
                frame.to_csv(draft, index=False, lineterminator="\n")
            else:
                figure.savefig(draft, format=kind, metadata=NO_DATES[kind])
