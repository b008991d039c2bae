import os
import subprocess
import sys
from pathlib import Path

from turnscope import locks

HOLD = """
import sys
from pathlib import Path
from turnscope import locks
with locks.holding(Path(sys.argv[1]), "it") as waited:
    print(waited, flush=True)
    sys.stdin.read()
"""


def holder(path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_a_lock_that_nobody_has_is_not_waited_for_and_leaves_nothing(tmp_path):
    with locks.holding(tmp_path / "new" / "lock", "it") as waited:
        assert not waited
        said = (tmp_path / "new" / "lock").read_text()
        assert said.startswith(f"process {os.getpid()} on ")
    assert [*(tmp_path / "new").iterdir()] == []


def test_a_lock_is_waited_for_until_its_holder_is_done(tmp_path):
    first = holder(tmp_path / "lock")
    assert first_line(first) == "False\n"
    second = holder(tmp_path / "lock")
    assert second.stderr is not None
    assert second.stderr.readline().startswith(f"it is being made by process {first.pid} on ")
    assert first.communicate()[0] == ""
    assert first_line(second) == "True\n"
    second.communicate()
    assert not (tmp_path / "lock").exists()


def test_a_lock_is_free_when_its_holder_is_killed(tmp_path):
    first = holder(tmp_path / "lock")
    assert first_line(first) == "False\n"
    first.kill()
    first.communicate()
    assert (tmp_path / "lock").exists()
    with locks.holding(tmp_path / "lock", "it") as waited:
        assert not waited


def test_the_lock_of_another_process_is_not_removed(tmp_path):
    path = tmp_path / "lock"
    with locks.holding(path, "it"):
        path.unlink()
        path.write_text("another's")
    assert path.read_text() == "another's"
