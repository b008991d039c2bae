import os
from pathlib import Path

import pytest

from tests.faults import study as studies


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> studies.Study:
    """A small study in which every rule has run, undisturbed; not to be written to."""
    return studies.made(tmp_path_factory.mktemp("undisturbed"))


@pytest.fixture(scope="session")
def mounts() -> None:
    """Skip where nothing can be mounted, unless it must be possible."""
    if os.geteuid() == 0 and Path("/proc/self/status").exists() and studies.can_mount():
        return
    if os.environ.get("CI"):
        pytest.fail("CI is set, but file systems cannot be mounted here; this takes root")
    pytest.skip("file systems cannot be mounted here; this takes root")
