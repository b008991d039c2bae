import pytest

from tests.plan.finished import JOBS, job
from turnscope.plan import work
from turnscope.plan.jobs import Study, study_of

STUDY = study_of(JOBS)


def test_play_counts_by_budgets():
    blind = job("sample", tasks=None, episodes=3, turns=[20])
    assert work.units(blind, STUDY) == {"turn": 500 * 3 * 20}
    again = job("sample", tasks=10, episodes=3, turns=[2, 5])
    assert work.units(again, STUDY) == {"turn": 10 * 3 * 7}


def test_parts_share_the_work_of_the_whole():
    whole = job("sample", tasks=10, episodes=3, turns=[2, 5])
    parts = [job("sample", **{**whole.spec, "part": part, "parts": 4}) for part in range(1, 5)]
    assert [work.units(part, STUDY) for part in parts] == [{"turn": 10 * 3 * 7 / 4}] * 4


def test_training_counts_what_is_learned_from_and_what_is_only_played():
    training = {"steps": 40, "tasks": 16, "group": 8, "checkpoint_steps": 20}
    progress = {"tasks": 50, "episodes": 6}
    trained = {"trained": 40 * 16 * 8 * 20}
    units = work.units(job("train", training=training, progress=progress), STUDY)
    assert units == {**trained, "turn": 3 * 50 * 6 * 20}
    assert work.units(job("train", training=training, progress=None), STUDY) == {
        **trained,
        "turn": 0,
    }


def test_likelihoods_of_two_are_scored_under_two():
    assert work.units(job("likelihood", episodes=4), STUDY) == {"scored": 2 * 2 * 500 * 4 * 20}


def test_compared_states_are_acted_in_and_gone_on_from():
    matched = job("matched", states=100, injected=20, actions=16, continuations=8)
    # 70 error states, ten turns left on average.
    assert work.units(matched, STUDY) == {"turn": 2 * (120 * 16 + 70 * 8 * 10)}


def test_what_does_not_depend_on_the_config_has_no_units():
    assert work.units(job("estimate"), STUDY) == {}
    loaded = job("base", settings={"backend": "transformers", "path": "Qwen/Qwen3-4B"})
    assert work.units(loaded, STUDY) == {}


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "blind"),
        ({"tasks": 200}, "again"),
        ({"temperature": None}, "heated"),
        ({"budget": {"told": True}}, "told"),
    ],
)
def test_ways_to_play_are_told_apart(changes, name):
    assert work.variant(job("sample", **changes)) == name


def test_a_part_of_a_study_is_refused():
    with pytest.raises(ValueError, match="no job makes tasks and base policy of frozen_lake"):
        work.units(job("sample"), Study({}, {}, {}))
