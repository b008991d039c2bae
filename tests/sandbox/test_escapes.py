import json
import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

from tests.sandbox.hostile import PROGRAMS
from tests.sandbox.play import settings, wrong
from turnscope import sandbox

ROOT = Path(__file__).parents[2]
OTHER = 12345
"""A user without a name and without files."""
PATIENCE = 30.0
"""Seconds."""


@pytest.fixture(
    scope="module", params=["bubblewrap", pytest.param("landlock", marks=pytest.mark.slow)]
)
def pool(request):
    try:
        sandbox.rung(settings(request.param))
    except ValueError as error:
        pytest.skip(str(error))
    return sandbox.pool(settings(request.param))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_hostile_program_gets_what_it_deserves(pool, name):
    assert not wrong(pool, PROGRAMS[name])


def _reachable(path: str) -> bool:
    places = [Path(path), *Path(path).parents]
    return all(place.stat().st_mode & 0o005 == 0o005 for place in places)


def _interpreter() -> str | None:
    """Find a Python that any user can start."""
    for path in (os.path.realpath(sys.executable), "/usr/bin/python3"):
        if Path(path).exists() and _reachable(path):
            check = "import sys; sys.exit(sys.version_info < (3, 11))"
            if subprocess.run([path, "-c", check], check=False).returncode == 0:
                return path
    return None


def _running(user: int) -> list[str]:
    """Return the processes of a user that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            owner, text = path.stat().st_uid, path.read_text()
        except OSError:
            continue
        if owner == user and text.rpartition(")")[2].split()[0] not in "ZX":
            found.append(text)
    return found


def _wait_for_the_end(user: int) -> None:
    """Wait until no process of a user is left; they end after their parent, not with it."""
    end = time.monotonic() + PATIENCE
    while left := _running(user):
        assert time.monotonic() < end, left
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_hostile_programs_get_what_they_deserve_from_a_normal_user(rung):
    if os.geteuid() != 0:
        pytest.skip("this is a normal user already")
    python, packages = _interpreter(), sysconfig.get_path("purelib")
    if python is None or not _reachable(str(ROOT)) or not _reachable(packages):
        pytest.skip("no interpreter or no code that another user can read")
    played = subprocess.run(
        [python, "-B", "-m", "tests.sandbox.play", rung],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'src'}:{packages}", "PATH": os.environ["PATH"]},
        user=OTHER,
        group=OTHER,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
    )
    if "no sandbox for programs" in played.stderr:
        pytest.skip(played.stderr.splitlines()[-1])
    assert json.loads(played.stdout or "null") == {}, played.stderr
    _wait_for_the_end(OTHER)
