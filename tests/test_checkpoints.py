import logging
import os
from pathlib import Path

import pytest

from turnscope import checkpoints


def folder_with(scratch: Path, steps: dict[int, bool], name: str = "run") -> None:
    assert checkpoints.last(scratch, name) is None
    for step, complete in steps.items():
        (scratch / f"checkpoint-{step}").mkdir()
        (scratch / f"checkpoint-{step}" / "model.safetensors").write_text("x")
        if complete:
            checkpoints.finish(scratch / f"checkpoint-{step}")


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_last_complete_checkpoint_is_used_and_incomplete_ones_are_removed(tmp_path):
    folder_with(tmp_path / "s", {9: True, 10: True, 100: False})
    found = checkpoints.last(tmp_path / "s", "run")
    assert found == tmp_path / "s" / "checkpoint-10"
    assert "checkpoint-100" not in names_in(tmp_path / "s")
    folder_with(tmp_path / "none", {5: False})
    assert checkpoints.last(tmp_path / "none", "run") is None
    assert names_in(tmp_path / "none") == ["run.json"]


def test_checkpoints_of_another_run_are_not_used(tmp_path):
    folder_with(tmp_path / "s", {5: True})
    assert checkpoints.last(tmp_path / "s", "other") is None
    assert names_in(tmp_path / "s") == ["run.json"]
    assert checkpoints.last(tmp_path / "s", "run") is None


def test_checkpoints_without_a_name_are_not_used(tmp_path):
    folder_with(tmp_path / "s", {5: True})
    (tmp_path / "s" / "run.json").unlink()
    assert checkpoints.last(tmp_path / "s", "run") is None


@pytest.mark.parametrize("content", [b"", b'"ru', b"[]", b"\xff"])
def test_checkpoints_with_a_damaged_name_are_not_used(tmp_path, content, caplog):
    folder_with(tmp_path / "s", {5: True})
    (tmp_path / "s" / "run.json").write_bytes(content)
    assert checkpoints.last(tmp_path / "s", "run") is None
    assert caplog.messages == [f"{tmp_path}/s: no checkpoint is used, for they are another run's"]


def test_what_broke_another_run_is_kept(tmp_path):
    folder_with(tmp_path / "s", {5: True})
    (tmp_path / "s" / "broken-step-6").mkdir()
    assert checkpoints.last(tmp_path / "s", "other") is None
    assert names_in(tmp_path / "s") == ["broken-step-6", "run.json"]


FILES = {"model.safetensors": b"weights", "trainer_state.json": b"{}", "rng/0.pth": b"\x00\x01"}


def two(scratch: Path) -> tuple[Path, Path]:
    """Make two complete checkpoints of a run."""
    scratch.mkdir()
    checkpoints.last(scratch, "run")
    for step in (2, 4):
        folder = scratch / f"checkpoint-{step}"
        for name, content in FILES.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        checkpoints.finish(folder)
    return scratch / "checkpoint-2", scratch / "checkpoint-4"


def damages(content: bytes) -> list[bytes | None]:
    """Cut a file at every byte, turn over a bit of every byte, and lose it."""
    cut = [content[:place] for place in range(len(content))]
    turned = [
        content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :]
        for place in range(len(content))
    ]
    return [*cut, *turned, None]


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_checkpoint_is_named_and_the_one_before_it_used(tmp_path, caplog, name):
    for number, content in enumerate(damages(FILES[name])):
        before, newest = two(tmp_path / str(number))
        assert checkpoints.last(newest.parent, "run") == newest
        (newest / name).unlink()
        if content is not None:
            (newest / name).write_bytes(content)
        caplog.clear()
        assert checkpoints.last(newest.parent, "run") == before
        what = "missing" if content is None else "damaged"
        assert caplog.messages == [f"{newest} is not used: its {name} is {what}"]
        assert not newest.exists()
        assert caplog.records[0].levelno == logging.WARNING


def test_a_mark_that_was_cut_or_changed_is_no_mark(tmp_path, caplog):
    _, newest = two(tmp_path / "first")
    whole = (newest / checkpoints.COMPLETE).read_bytes()
    tried = [whole[:place] for place in range(0, len(whole) - 2, 7)]
    # Of names and checksums; what is between them may be any white space.
    places = [place for place, byte in enumerate(whole) if chr(byte).isalnum()]
    tried += [
        whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :] for place in places[::5]
    ]
    for number, content in enumerate([*tried, b"[]", b"{}", b"3", b"\xff\xff"]):
        before, newest = two(tmp_path / str(number))
        (newest / checkpoints.COMPLETE).write_bytes(content)
        caplog.clear()
        assert checkpoints.last(newest.parent, "run") == before, content
        assert len(caplog.messages) == 1
        assert caplog.messages[0].startswith(f"{newest} is not used: its ")


def test_where_all_are_damaged_none_is_used(tmp_path, caplog):
    before, newest = two(tmp_path / "s")
    (newest / checkpoints.COMPLETE).unlink()
    (before / "trainer_state.json").write_text("{ ")
    assert checkpoints.last(tmp_path / "s", "run") is None
    assert caplog.messages == [
        f"{newest} is not used: it was cut short",
        f"{before} is not used: its trainer_state.json is damaged",
    ]
    assert names_in(tmp_path / "s") == ["run.json"]


def test_the_oldest_go_by_their_steps_whatever_the_clock_says(tmp_path):
    """It is set back by an hour between the checkpoints of steps 4 and 10."""
    before, newest = two(tmp_path / "s")
    for folder, at in ((before, 7200), (newest, 7201)):
        os.utime(folder, (at, at))
    third = tmp_path / "s" / "checkpoint-10"
    third.mkdir()
    (third / "model.safetensors").write_bytes(b"newer")
    os.utime(third, (3600, 3600))
    checkpoints.finish(third)
    assert names_in(tmp_path / "s") == ["checkpoint-10", "checkpoint-4", "run.json"]
    assert checkpoints.last(tmp_path / "s", "run") == third
