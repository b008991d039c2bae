"""Stateless random numbers: every draw is a function of what it is for.

A draw named by (seed, task, turn) does not depend on what was drawn before it, on the batch it is
made in, or on whether the job was resumed. So a resumed run equals an uninterrupted one, and a
replayed episode meets the same noise.

Source:
    The mixer is SplitMix64: Steele, Lea and Flood 2014, "Fast splittable pseudorandom number
    generators", with the constants of its reference implementation.
"""

import hashlib

import numpy as np
import numpy.typing as npt

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
FIRST, SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def seed(*names: str | int) -> int:
    """Derive a 64-bit seed from names, the same in every process.

    Args:
        names: What the seed is for, such as a study seed, an environment and a task.

    Returns:
        A seed, 0 <= seed < 2**64. Different names give independent seeds.
    """
    text = "\x1f".join(f"s{name}" if isinstance(name, str) else f"i{int(name)}" for name in names)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def mix(key: int, counter: int) -> int:
    """Return the 64 random bits number `counter` of the stream named by `key`."""
    z = (key + (counter + 1) * GOLDEN) & MASK
    z = ((z ^ (z >> 30)) * FIRST) & MASK
    z = ((z ^ (z >> 27)) * SECOND) & MASK
    return z ^ (z >> 31)


def uniform(key: int, counter: int) -> float:
    """Return number `counter` of the stream named by `key`, uniform on [0, 1)."""
    return (mix(key, counter) >> 11) * 2.0**-53


def uniforms(keys_N: npt.ArrayLike, counters_N: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return `uniform` of each pair, vectorised.

    Args:
        keys_N: Seeds, shape (N,), as unsigned 64-bit integers.
        counters_N: Positions in the streams, >= 0, shape (N,).

    Returns:
        Uniform numbers on [0, 1), shape (N,).
    """
    keys = np.asarray(keys_N, dtype=np.uint64)
    counters = np.asarray(counters_N, dtype=np.uint64)
    with np.errstate(over="ignore"):  # arithmetic modulo 2**64 is the algorithm
        z = keys + (counters + np.uint64(1)) * np.uint64(GOLDEN)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(FIRST)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(SECOND)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53
