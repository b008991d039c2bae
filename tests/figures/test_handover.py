import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from tests.figures import synthetic
from turnscope.figures import _style, handover


def test_levels_leads_and_losses_are_the_estimates():
    frame = handover.data(synthetic.estimates(), pd.DataFrame(), k=8, arms=synthetic.named("grpo"))
    level, lead, loss = handover.plot(frame).axes
    own = frame.loc[frame["policy"] == "grpo"]
    expected = {
        level: own.loc[(own["metric"] == "handover") & own["against"].isna(), "value"],
        lead: own.loc[(own["metric"] == "handover") & (own["against"] == "base"), "value"],
        loss: own.loc[own["metric"] == "handover_loss", "value"],
    }
    for ax, values in expected.items():
        lines = [
            np.asarray(line.get_ydata(), float)
            for line in ax.lines
            if to_hex(line.get_color()) == _style.HUES["grpo"] and line.get_linewidth() > 1
        ]
        assert len(lines) == 1
        assert lines[0] == pytest.approx(values.to_numpy())
    assert [len(values) for values in expected.values()] == [13, 13, 12]
