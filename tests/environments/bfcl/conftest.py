"""The package of BFCL, where it can be had."""

import os
from pathlib import Path

import pytest

from turnscope.environments.bfcl import official


@pytest.fixture(scope="session")
def package() -> Path:
    """Install the package; without a network skip the test, but not in CI."""
    try:
        return official.folder()
    except RuntimeError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
