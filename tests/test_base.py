from collections import Counter
from dataclasses import replace

import pytest

from tests.conftest import SPEC
from turnscope import base, nano
from turnscope.types import StopReason

RECIPE = nano.Recipe(**SPEC["settings"]["build"])


def test_a_model_that_is_neither_built_nor_loaded_is_refused(lakes, tmp_path):
    with pytest.raises(ValueError, match=r"models\.nano: give either `build` or `path`"):
        base.make(SPEC | {"settings": {}}, lakes, tmp_path)


def test_the_expert_plays_each_task_as_often(lakes):
    for number in (200, 90, 7):
        episodes = base.teach(SPEC, replace(RECIPE, episodes=number), lakes)
        assert len(episodes) == number
        counts = Counter(episode.task_id for episode in episodes)
        assert max(counts.values()) - min(counts.values()) <= 1
        assert len({(episode.task_id, episode.sample) for episode in episodes}) == number


def test_the_expert_is_imperfect_but_no_fool(lakes):
    episodes = base.teach(SPEC, replace(RECIPE, episodes=400), lakes)
    solved = sum(bool(episode.success) for episode in episodes) / len(episodes)
    assert 0.3 < solved < 0.95
    assert all(episode.stop is not StopReason.ERROR for episode in episodes)


def test_the_expert_depends_on_the_seed_alone(lakes, monkeypatch):
    few = replace(RECIPE, episodes=60)
    once = base.teach(SPEC, few, lakes)
    monkeypatch.setattr(base, "BATCH", 7)
    assert base.teach(SPEC, few, lakes) == once
    assert base.teach(SPEC | {"seed": 2}, few, lakes) != once


def test_building_twice_is_equal_and_another_seed_differs(nano_folder, lakes, tmp_path):
    base.make(SPEC, lakes, tmp_path / "again")
    base.make(SPEC | {"seed": 2}, lakes, tmp_path / "other")
    first, again, other = (
        (folder / "model.safetensors").read_bytes()
        for folder in (nano_folder, tmp_path / "again", tmp_path / "other")
    )
    assert first == again
    assert first != other
    for name in ("tokenizer.json", "config.json"):
        assert (nano_folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_without_train_tasks_nothing_can_be_taught(tmp_path):
    with pytest.raises(ValueError, match="train task"):
        base.make(SPEC, [], tmp_path)
