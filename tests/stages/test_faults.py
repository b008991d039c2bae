import errno
import os

import pytest

from turnscope.stages import _faults

FULL = (
    "no space left on the disk of {}; make room and give the same command again: what is "
    "finished stays"
)


def wrapped(inner: Exception) -> Exception:
    """Raise one error because of another."""
    try:
        try:
            raise inner
        except Exception as fault:
            raise RuntimeError("writing failed") from fault
    except RuntimeError as outer:
        return outer


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded", "a"),
        RuntimeError("I/O error: No space left on device (os error 28)"),
        wrapped(OSError(errno.ENOSPC, "full")),
    ],
)
def test_a_full_disk_is_told_by_the_first_file_that_is_not_there(tmp_path, error):
    (tmp_path / "a").touch()
    outputs = [tmp_path / "a", tmp_path / "b", tmp_path / "c"]
    assert _faults.line(error, outputs) == FULL.format(tmp_path / "b")


def test_a_read_only_file_system_is_told(tmp_path):
    error = OSError(errno.EROFS, "Read-only file system", "x")
    line = _faults.line(error, [tmp_path / "a"])
    assert line == f"{tmp_path}/a cannot be written: its file system is read-only"


def test_other_errors_are_one_line_with_their_kind(tmp_path):
    assert _faults.line(ValueError("two\n  lines"), []) == "two lines"
    assert _faults.line(KeyError("x"), [tmp_path / "a"]) == "KeyError: 'x'"
    assert _faults.line(OSError(errno.ENOSPC, "full"), []).startswith("OSError: ")


def test_what_the_log_cannot_hold_is_said_aside(tmp_path, monkeypatch):
    def refuse(text: str) -> int:
        raise OSError(errno.ENOSPC, "full")

    aside = os.open(tmp_path / "aside", os.O_CREAT | os.O_WRONLY)
    monkeypatch.setenv(_faults.ASIDE, str(aside))
    monkeypatch.setattr("sys.stderr.write", refuse)
    _faults.say("error: it is full")
    monkeypatch.setenv(_faults.ASIDE, "none")
    _faults.say("error: and nobody listens")
    os.close(aside)
    assert (tmp_path / "aside").read_text() == "error: it is full\n"
