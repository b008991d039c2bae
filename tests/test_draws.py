import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnscope import draws

seeds = st.integers(0, 2**64 - 1)

SEED = 13779525795005251390
"""Of task `test-00017`. Another value means that every stored result was drawn otherwise."""


def test_mix_gives_the_published_outputs_of_splitmix64():
    # Outputs of the reference implementation for seed 1234567.
    assert [draws.mix(1234567, i) for i in range(5)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@given(seeds, st.integers(0, 2**32))
def test_uniform_is_in_the_unit_interval(seed, counter):
    assert 0 <= draws.uniform(seed, counter) < 1


@given(st.lists(st.tuples(seeds, st.integers(0, 2**32)), min_size=1, max_size=20))
def test_vectorised_equals_one_by_one(pairs):
    keys, counters = (np.array(column, dtype=np.uint64) for column in zip(*pairs, strict=True))
    expected = [draws.uniform(key, counter) for key, counter in pairs]
    assert draws.uniforms(keys, counters).tolist() == expected


def test_a_stream_looks_uniform_and_uncorrelated():
    number = 20_000
    noise = draws.uniforms(np.full(number, draws.seed("stream")), np.arange(number))
    counts, _ = np.histogram(noise, bins=20, range=(0, 1))
    chi_square = ((counts - number / 20) ** 2 / (number / 20)).sum()
    assert chi_square < 45  # 19 degrees of freedom: exceeded once in 1400 seeds
    assert abs(np.corrcoef(noise[:-1], noise[1:])[0, 1]) < 4 / number**0.5


def test_first_draws_of_derived_seeds_look_uniform_too():
    number = 5000
    first = np.array([draws.uniform(draws.seed("task", i), 0) for i in range(number)])
    assert abs(first.mean() - 0.5) < 4 / (12 * number) ** 0.5
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 4 / number**0.5


def test_names_are_told_apart():
    named = [
        draws.seed(*names)
        for names in [("a", "b"), ("ab",), ("b", "a"), ("a", "b", ""), ("1",), (1,), (1, 1), (11,)]
    ]
    assert len(set(named)) == len(named)


@given(st.lists(st.one_of(st.text(max_size=5), st.integers()), max_size=4))
def test_a_seed_has_64_bits(names):
    assert 0 <= draws.seed(*names) < 2**64


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_a_seed_is_the_same_in_every_process(hash_seed):
    code = "from turnscope import draws; print(draws.seed(1, 'frozen_lake', 'test-00017'))"
    printed = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert int(printed) == draws.seed(1, "frozen_lake", "test-00017") == SEED
