import pytest

from tests.matched.played import TURNS, WHO, hall_pair, lake_pair, play
from tests.toys import hall
from turnscope.environments import frozen_lake
from turnscope.matched.pair import Pair
from turnscope.matched.visits import errors, read
from turnscope.types import Budget, Turn


@pytest.fixture(scope="module")
def pair() -> Pair:
    return lake_pair()


@pytest.fixture(scope="module")
def base(pair, tmp_path_factory):
    return play(pair, tmp_path_factory.mktemp("lakes"))[0]


def test_a_visit_is_a_turn_with_what_led_to_it(pair, base):
    columns = base.columns
    assert len(columns["turn"]) == len(base.tokens) > 200
    for row in range(0, len(columns["turn"]), 7):
        at, before = base.at(row), base.prefix(row)
        assert at["left"] == TURNS - at["turn"]
        environment = pair.environment()
        environment.reset(pair.tasks[at["task_id"]], at["seed"])
        for key, action in zip(before["state_keys"], before["actions"], strict=True):
            assert environment.state_key() == key
            environment.step(action)
        assert len(before["actions"]) == at["turn"]
        assert environment.state_key() == at["state_key"]


def test_errors_are_those_of_the_action_before_by_the_turns_left_after_it(pair, base):
    rows = [*range(0, len(base.columns["turn"]), 3)]
    found = errors(pair, base, rows)
    assert {"", "loss", "away", "loss away"} == set(found)
    for row, names in zip(rows, found, strict=True):
        at = base.at(row)
        if at["turn"] == 0:
            assert names == ""
            continue
        one = base.at(row - 1)
        turn = Turn("", one["state_key"], one["action"], 0.0, True)
        task = pair.tasks[at["task_id"]]
        assert names.split() == frozen_lake.errors(task, turn, at["state_key"], at["left"])


def test_where_nothing_is_called_an_error_there_is_none(base):
    assert errors(hall_pair(), base, [0, 1, 2]) == ["", "", ""]


def test_episodes_whose_environment_failed_are_left_out(tmp_path):
    fine, broken = hall(9, "fine"), hall(9, "broken", breaks="step", at=2)
    for visits in play(hall_pair(fine, broken), tmp_path):
        assert set(visits.columns["task_id"]) == {"fine"}
        # tokens are found by the place in the file, which has the others too
        assert len(visits.tokens) > len(visits.columns["turn"])
        row = len(visits.columns["turn"]) - 1
        said = [len(ids) for ids in visits.prefix(row)["action_ids"]]
        assert said
        assert all(1 <= size <= 4 for size in said)


def test_episodes_under_another_budget_are_refused(tmp_path):
    play(hall_pair(hall()), tmp_path)
    paths = tmp_path / "base-episodes.parquet", tmp_path / "base-turns.parquet"
    with pytest.raises(ValueError, match=r"played under 6 turns, told False; legal is .* 5"):
        read("base", *paths, Budget(5, 4))


def test_a_budget_that_is_told_is_refused():
    with pytest.raises(ValueError, match=r"budget\.told is True"):
        Pair(frozen_lake, frozen_lake.Environment, {}, {}, Budget(5, 4, told=True), 1, 1, WHO)
