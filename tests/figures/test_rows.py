import pandas as pd

from tests.figures import synthetic
from turnscope.figures import _rows, _style


def test_rows_say_of_which_algorithm_they_are_and_how_it_was_trained():
    arms = synthetic.named("grpo", mine_told="budget_mix")
    policies = ["base", "grpo", "mine_told-s1", "stranger"]
    frame = _rows.placed(pd.DataFrame({"policy": policies}), arms)
    rows = frame[["algorithm", "trained"]].astype(object).where(frame.notna(), None)
    assert rows.to_numpy().tolist() == [
        [None, None],
        ["grpo", "blind"],
        ["budget_mix", "told"],
        [None, None],
    ]
    assert _style.told_of(frame) == ["mine_told"]
