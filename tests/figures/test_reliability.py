import numpy as np
import pandas as pd

from tests.figures import synthetic
from turnscope.figures import reliability

NONE = pd.DataFrame()


def test_both_curves_start_at_the_average():
    frame = reliability.data(synthetic.estimates(), NONE, k=8, arms=synthetic.named("grpo"))
    (ax,) = reliability.plot(frame).axes
    curves = [np.asarray(line.get_ydata(), float) for line in ax.lines]
    assert len(curves) == 6
    for above, below, average in (curves[:3], curves[3:]):
        assert above[0] == below[0] == average[0]
        assert (np.diff(above) >= 0).all()
        assert (np.diff(below) <= 0).all()
    assert set(frame["t"]) == {12}
