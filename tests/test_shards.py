import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnscope import shards


@pytest.mark.parametrize(
    ("tasks", "episodes", "batch", "sizes"),
    [
        (10, 8, 32, [4, 4, 2]),  # four tasks a batch
        (3, 8, 4, [1, 1, 1]),  # two batches a task
        (7, 6, 4, [2, 2, 2, 1]),  # three batches for two tasks
        (5, 7, 16, [5]),  # seven batches for sixteen tasks
        (2, 5, 1, [1, 1]),
        (0, 5, 1, []),
    ],
)
def test_pieces_end_where_a_batch_and_a_task_do(tasks, episodes, batch, sizes):
    pieces = shards.pieces(tasks, episodes, batch)
    numbers = list(range(tasks))
    assert [number for piece in pieces for number in numbers[piece]] == numbers
    assert [len(numbers[piece]) for piece in pieces] == sizes
    assert all(piece.start * episodes % batch == 0 for piece in pieces)


@given(st.integers(0, 40), st.integers(1, 12))
def test_parts_follow_each_other_and_none_is_much_larger(pieces, parts):
    shared = [shards.share(range(pieces), part, parts) for part in range(1, parts + 1)]
    assert [piece for own in shared for piece in own] == list(range(pieces))
    sizes = {len(own) for own in shared}
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("part", [0, 3])
def test_a_part_that_there_is_not_is_refused(part):
    with pytest.raises(ValueError, match=f"part is {part}; legal is 1 to 2"):
        shards.share([1, 2, 3], part, 2)
