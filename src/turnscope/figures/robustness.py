"""Do verdicts depend on choices? Every claim judged by each seed, source of states and error."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from turnscope.figures import _captions, _rows, _style
from turnscope.types import Arm

SOURCES = ("robustness",)
TITLE = "Verdicts judged in other ways"
CAPTION = (
    "Verdict on each claim (rows, named in the ledger), for each arm. First column: as the ledger "
    "has it, by the mean over {seeds}. After it, the same rule by one training seed alone, by "
    "states from the episodes of base or of the trained policy alone, by one definition of an "
    "error alone, and by errors that were put in. A row of one colour does not hang on these "
    "choices. Blank: the choice does not enter that claim, or it could not be judged so.{left_out}"
)
LOOKS = {
    "reproduced": ("✓", "#8fd0ac"),
    "holds": ("✓", "#8fd0ac"),
    "inconclusive": ("?", "#f1e3b0"),
    "contradicted": ("✗", "#f2a88a"),
}
"""Sign and colour of each verdict that a claim which was run can have."""
HEADLINE = "headline"
CELL = 0.24, 0.19
"""Width of a cell where there is room, and its height, inches."""
LABELS, LETTER = 0.55, 0.085
"""Width of the names of claims and of a letter of a title, inches."""


def data(
    estimates: pd.DataFrame,
    training: pd.DataFrame,
    *,
    k: int,
    arms: Mapping[str, Arm],
    robustness: pd.DataFrame,
) -> pd.DataFrame:
    """Select the verdicts.

    Args:
        estimates: Not used.
        training: Not used.
        k: Not used.
        arms: The arms of the study by name, in the order of its config.
        robustness: Rows of `robustness`.

    Returns:
        One row for each cell: columns `_rows.WHO`, `claim`, `variant`, and what was found.

    Raises:
        ValueError: No claim was judged.
    """
    if robustness.empty:
        raise ValueError("robustness: no claim was judged, so there is no verdict to draw")
    columns = [*_rows.WHO, "claim", "variant", "value", "low", "high", "verdict"]
    rank = robustness["variant"].map(_rank)
    places = {key: place for place, key in enumerate(sorted(set(rank)))}
    rows = robustness.assign(column=rank.map(places))
    keys = [*_rows.ORDER, "claim", "column"]
    return _rows.table(rows, arms, [*columns, "column"], keys)[columns]


def _rank(variant: str) -> tuple[int, int, str]:
    """Sort the ways to judge: the headline, seeds, sources of states, definitions of an error."""
    if variant == HEADLINE:
        return 0, 0, ""
    kind, _, number = variant.partition(" ")
    if kind == "seed":
        return 1, int(number), ""
    return (2 if number == "states" else 3), variant == "injected", variant


def caption(frame: pd.DataFrame) -> str:
    """Describe the figure to a reader who sees nothing else of the study."""
    seeds = frame.loc[frame["variant"].str.startswith("seed ")].groupby(["env", "model", "policy"])
    counts = seeds["variant"].nunique()
    return CAPTION.format(
        seeds=_captions.counted(counts, "training seed"),
        left_out=_captions.left_out(frame, "the ledger"),
    )


@_style.styled
def plot(frame: pd.DataFrame) -> Figure:
    """Draw a matrix for each arm, side by side, those of one environment and model in a line.

    Args:
        frame: Result of `data`.

    Returns:
        A figure; saving it is the caller's business.
    """
    shown = _style.legible(frame)
    pairs, arms = _style.panels(shown), _style.arms_of(shown)
    claims = sorted(shown["claim"].unique())
    ways = [_ways(shown.loc[shown["policy"] == arm]) for arm in arms]
    room = [max(len(way), len(arm) * LETTER / CELL[0]) for way, arm in zip(ways, arms, strict=True)]
    wanted = LABELS + CELL[0] * sum(room) + 0.15 * len(arms)
    width = _style.SINGLE if wanted <= _style.SINGLE else _style.DOUBLE
    room.append(max((width - wanted) / CELL[0], 0.01))
    height = CELL[1] * len(claims) + 1.3
    figure = Figure(figsize=(width, 0.35 + height * len(pairs)), layout="constrained")
    grid = figure.add_gridspec(len(pairs), len(room), width_ratios=room)
    for line, pair in enumerate(pairs):
        part = _style.within(shown, pair)
        axes = [figure.add_subplot(grid[line, place]) for place in range(len(arms))]
        for place, (ax, arm, names) in enumerate(zip(axes, arms, ways, strict=True)):
            rows = part.loc[part["policy"] == arm]
            if place and rows.empty:
                ax.remove()
                continue
            ax.set_title(arm)
            _matrix(ax, rows, claims, names, room[place])
            ax.tick_params(labelleft=place == 0)
        _style.name_block(axes[0], pair)
    entries = {look: verdict for verdict, look in LOOKS.items() if verdict in set(shown["verdict"])}
    _style.legend(
        figure,
        [
            Patch(facecolor=colour, label=f"{sign} {verdict}")
            for (sign, colour), verdict in entries.items()
        ],
    )
    return figure


def _ways(rows: pd.DataFrame) -> list[str]:
    return sorted(rows["variant"].unique(), key=_rank)


def _matrix(ax: Axes, rows: pd.DataFrame, claims: list[str], names: list[str], room: float) -> None:
    """Draw the verdicts of one arm, claims downwards; the panel is `room` cells wide."""
    down = {claim: place for place, claim in enumerate(claims)}
    across = {name: place for place, name in enumerate(names)}
    for row in rows.to_dict("records"):
        x, y = across[row["variant"]], down[row["claim"]]
        sign, colour = LOOKS[row["verdict"]]
        ax.add_patch(Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, facecolor=colour, linewidth=0))
        bold = "bold" if row["variant"] == HEADLINE else "normal"
        ax.text(x, y, sign, ha="center", va="center", fontsize=7, fontweight=bold)
    kinds = [_rank(name)[0] for name in names]
    for place in range(1, len(names)):
        if kinds[place] != kinds[place - 1]:
            ax.axvline(place - 0.5, color=_style.BOUND, linewidth=0.6)
    ax.set_xlim(-0.5, room - 0.5)
    ax.set_ylim(len(claims) - 0.5, -0.5)
    ax.set_xticks(range(len(names)), names, rotation=90)
    ax.set_yticks(range(len(claims)), claims)
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
