"""Functions of the catalogue as Python runs them, and inputs for them."""

import numpy as np

from turnscope.environments.deepcoder import list_programs
from turnscope.environments.deepcoder.list_programs import Code, catalogue

CODES = list(catalogue().values())


def function(text: str):
    space: dict = {}
    exec(text, space)
    return space[list_programs.ENTRY]


def fresh(code: Code, seed: int, number: int) -> list:
    """Draw inputs that no module has seen, some beyond those of tests."""
    random = np.random.default_rng(seed)
    if code.kind == "integer":
        return [int(x) for x in random.integers(-40, 60, size=number)]
    sizes = random.integers(0, 14, size=number)
    return [random.integers(-9, 20, size=size).tolist() for size in sizes]
