import pytest

from tests.environments.intercode_sql.shops import GOLD, task
from turnscope.environments import intercode_sql
from turnscope.environments.intercode_sql import grading, views
from turnscope.types import Turn

ALL = "SELECT title FROM goods"


def key_after(*actions: str, about=None) -> str:
    environment = intercode_sql.Environment()
    environment.reset(about or task(), 0)
    for action in actions:
        environment.step(action)
    return environment.state_key()


@pytest.mark.parametrize(
    ("before", "action", "value"),
    [
        ([], GOLD, 1.0),
        ([], ALL, 2 / 3),
        ([], "SHOW TABLES", 0.0),
        ([], "SELECT nose FROM goods", 0.0),
        ([], "submit", 0.0),
        ([ALL], "submit", 2 / 3),
        ([GOLD], "submit", 1.0),
        ([GOLD, "SHOW TABLES"], "submit", 0.0),
        ([GOLD], ALL, 2 / 3),
    ],
)
def test_quality_is_the_overlap_of_the_result(before, action, value):
    quality = grading.step_quality(task(), key_after(*before), action, 5)
    assert quality == (pytest.approx(value), 1.0)


def test_without_submitting_the_word_is_a_statement_that_fails():
    about = task(protocol="auto")
    key = key_after(ALL, about=about)
    assert grading.step_quality(about, key, "submit", 5) == (0.0, 1.0)
    assert "submit" not in grading.mistakes(about, key, 5)


@pytest.mark.parametrize(
    ("before", "action", "names"),
    [
        ([], GOLD, []),
        ([], ALL, []),
        ([], "SELECT nose FROM goods", ["failed"]),
        ([GOLD], "SELECT nose FROM goods", ["failed", "drop"]),
        ([GOLD], ALL, ["drop"]),
        ([ALL], GOLD, []),
        ([], "SELECT title FROM goods WHERE sort = 'food'", ["empty"]),
        ([ALL], "SELECT title FROM goods WHERE sort = 'food'", ["empty", "drop"]),
    ],
)
def test_errors_by_hand(before, action, names):
    turn = Turn("", key_after(*before), action, 0.0, True)
    assert grading.errors(task(), turn, key_after(*before, action), 3) == names


def test_an_empty_result_is_no_error_where_nothing_is_to_be_found():
    gold = "SELECT title FROM goods WHERE sort = 'food'"
    about = task("names of kind food", gold)
    turn = Turn("", key_after(about=about), gold, 0.0, True)
    assert grading.errors(about, turn, key_after(gold, about=about), 3) == []


def test_mistakes_are_near_queries_and_submitting_a_wrong_result():
    found = grading.mistakes(task(), key_after(ALL), 5)
    assert "SELECT title FROM goods WHERE cost > 5" in found
    assert "SELECT title FROM goods WHERE sort = 'tool'" in found
    assert "submit" in found
    assert "submit" not in grading.mistakes(task(), key_after(GOLD), 5)


def test_equal_results_are_one_state_however_they_were_asked_for():
    assert key_after(GOLD) == key_after("SHOW TABLES", "select title from goods where sort='toy'")
    assert key_after(GOLD) != key_after(ALL)


def test_numbers_of_other_types_are_other_states_as_the_published_reward_tells_them_apart():
    about = task("total units of kind toy", "SELECT COUNT(*) FROM goods WHERE sort = 'toy'")
    for said, reward in (("SELECT 2", 1.0), ("SELECT 2.0", 0.0)):
        environment = intercode_sql.Environment(reward="intercode")
        environment.reset(about, 0)
        environment.step(said)
        assert environment.step("submit") == (views.RIGHT, reward, True, True, True)
    assert key_after("SELECT 2", about=about) != key_after("SELECT 2.0", about=about)
