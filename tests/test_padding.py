import torch
from hypothesis import given
from hypothesis import strategies as st

from turnscope import padding

SIDES = st.tuples(st.integers(0, 4), st.integers(1, 6), st.integers(0, 4))


@given(st.lists(SIDES, min_size=1, max_size=9), st.none() | st.integers(1, 10))
def test_parts_cover_every_token_once_and_little_else(sides, most):
    """Rows are padded on the left so that prompts end together, and on the right."""
    width = 9
    mask = torch.zeros((len(sides), width), dtype=torch.long)
    for row, (before, size, _) in enumerate(sides):
        mask[row, before : min(before + size, width)] = 1
    parts = list(padding.parts(mask, most))
    rows = torch.cat([part.rows for part in parts])
    assert sorted(rows.tolist()) == list(range(len(sides)))
    assert all(len(part.rows) <= (most or len(sides)) for part in parts)
    lengths = mask.sum(1)[rows]
    assert (lengths[1:] >= lengths[:-1]).all()
    for part in parts:
        inside = mask[part.rows, part.left : part.right]
        assert inside.sum() == mask[part.rows].sum()
        assert inside[:, 0].any()
        assert inside[:, -1].any()
