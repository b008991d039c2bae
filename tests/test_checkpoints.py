from pathlib import Path

import pytest

from turnscope import checkpoints


def folder_with(scratch: Path, steps: dict[int, bool], name: str = "run") -> None:
    assert checkpoints.last(scratch, name) is None
    for step, complete in steps.items():
        (scratch / f"checkpoint-{step}").mkdir()
        (scratch / f"checkpoint-{step}" / "model.safetensors").write_text("x")
        if complete:
            (scratch / f"checkpoint-{step}" / checkpoints.COMPLETE).touch()


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


@pytest.mark.parametrize("content", ["", '"ru', "[]"])
def test_checkpoints_with_a_damaged_name_are_not_used(tmp_path, content):
    folder_with(tmp_path / "s", {5: True})
    (tmp_path / "s" / "run.json").write_text(content)
    assert checkpoints.last(tmp_path / "s", "run") is None


def test_what_broke_another_run_is_kept(tmp_path):
    folder_with(tmp_path / "s", {5: True})
    (tmp_path / "s" / "broken-step-6").mkdir()
    assert checkpoints.last(tmp_path / "s", "other") is None
    assert names_in(tmp_path / "s") == ["broken-step-6", "run.json"]
