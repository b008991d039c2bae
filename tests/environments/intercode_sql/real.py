"""The real questions and databases, where they are."""

import os
from functools import lru_cache
from pathlib import Path

import pytest

from turnscope.environments.intercode_sql import spider
from turnscope.environments.intercode_sql.problems import Problem

FILE = "TURNSCOPE_SPIDER"
"""Names the file of questions, which is no part of the project, see `docs/sql.md`."""
SHA256 = "68c9ecb0692c80770f46c724cc073ea76be4f301a294caa532c050546948128e"


def questions() -> Path:
    """Return the file of questions; without it skip the test, but not in CI."""
    path = Path(os.environ.get(FILE, ""))
    if not path.is_file():
        assert not os.environ.get("CI"), f"{FILE} names no file"
        pytest.skip(f"{FILE} names no file")
    return path


def problems() -> list[Problem]:
    """Read the questions, or skip the test."""
    return spider.problems(questions(), SHA256)


@lru_cache(maxsize=1)
def scripts() -> dict[str, str]:
    """Convert the databases of the wheel; without a network skip the test, but not in CI."""
    try:
        return spider.scripts()
    except RuntimeError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
