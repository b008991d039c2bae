import pytest

from tests.environments.intercode_sql.shops import GOLD, task
from turnscope import draws
from turnscope.environments import intercode_sql
from turnscope.environments.intercode_sql import views
from turnscope.types import Step


def play(environment, actions, about=None):
    environment.reset(about or task(), 0)
    return [environment.step(action) for action in actions]


def test_an_episode_by_hand():
    environment = intercode_sql.Environment()
    assert environment.reset(task(), 0) == "names of kind toy"
    assert environment.state_key() == "start 0.0 - shop"
    assert environment.step("SHOW TABLES") == Step("goods", 0.0, False)
    assert environment.step("DESCRIBE goods") == Step("cost ; title ; left ; sort", 0.0, False)
    wrong = environment.step("SELECT title FROM goods")
    assert wrong == Step("ball ; saw ; kite", 0.0, False)
    assert environment.state_key().startswith(f"rows {2 / 3!r} ")
    failed = environment.step("SELECT name FROM goods")
    assert failed == Step("no such column: name", 0.0, False, valid=False)
    assert environment.state_key() == "error 0.0 - shop"
    assert environment.step(f"Look:\n```sql\n{GOLD}\n```").observation == "ball ; kite"
    assert environment.step("submit") == Step(views.RIGHT, 1.0, True, True)


@pytest.mark.parametrize(
    ("action", "statement"),
    [
        (" SELECT 1 ", "SELECT 1"),
        ("It is:\n```sql\nSELECT 1\n```", "SELECT 1"),
        ("<think>\n```SELECT 2```\nsubmit?\n</think>\n\nSELECT 1", "SELECT 1"),
        ("<think>\nhm\n</think>\n\n```\nsubmit;\n```", "submit;"),
    ],
)
def test_reasoning_is_no_statement(action, statement):
    assert views.statement_in(action) == statement
    assert views.is_submit(action) == statement.startswith("submit")


@pytest.mark.parametrize(
    ("actions", "said"),
    [
        (["submit"], views.NOTHING),
        (["SELECT title FROM goods", "submit"], views.WRONG),
        # The last result counts, as in InterCode: neither a better one before it, nor nothing.
        ([GOLD, "SHOW TABLES", "submit"], views.WRONG),
        ([GOLD, "no statement", "submit"], views.WRONG),
    ],
)
def test_what_is_submitted_is_the_last_result(actions, said):
    steps = play(intercode_sql.Environment(), actions)
    assert not any(step.terminated for step in steps[:-1])
    assert steps[-1] == Step(said, 0.0, True, False)


@pytest.mark.parametrize("word", ["submit", " SUBMIT\n", "submit;", "Done:\n```sql\nsubmit\n```"])
def test_submitting_is_understood_where_it_is_clear(word):
    assert play(intercode_sql.Environment(), [GOLD, word])[-1].success


def test_an_order_counts_where_it_is_asked_for():
    gold = "SELECT title FROM goods ORDER BY cost DESC"
    about = task("names by price down", gold)
    for said, right in ((gold, True), ("SELECT title FROM goods ORDER BY cost", False)):
        assert play(intercode_sql.Environment(), [said, "submit"], about)[-1].success == right
    said = "SELECT title FROM goods WHERE sort = 'toy' ORDER BY cost DESC"
    assert play(intercode_sql.Environment(), [said, "submit"])[-1].success


def test_protocol_auto_ends_at_the_first_right_result_and_tells_rewards():
    about = task(protocol="auto")
    steps = play(intercode_sql.Environment(), ["SELECT title FROM goods", "submit", GOLD], about)
    assert steps[0] == Step("ball ; saw ; kite ; reward 0.67", 0.0, False)
    assert (steps[1].terminated, steps[1].valid) == (False, False)
    assert steps[1].observation.endswith(" ; reward 0")
    assert steps[2] == Step(views.RIGHT, 1.0, True, True)
    assert intercode_sql.gold(about, 0) == [GOLD]
    assert intercode_sql.bound(about, 3) == [1.0, 1.0, 1.0]


def test_the_published_reward_is_paid_if_asked_for():
    environment = intercode_sql.Environment(reward="intercode")
    # The right rows in another order: solved here, punished there.
    said = f"{GOLD} ORDER BY cost DESC"
    assert play(environment, [said, "submit"])[-1] == Step(views.RIGHT, -1.0, True, True)
    assert play(environment, ["SELECT title FROM goods", "submit"])[-1].reward == 0.67
    assert play(environment, ["SELECT nothing", "submit"])[-1].reward == 0.0


def test_a_statement_that_does_not_run_can_be_punished():
    steps = play(intercode_sql.Environment(penalty=0.1), ["SELECT", GOLD, "submit"])
    assert [step.reward for step in steps] == [-0.1, 0.0, 1.0]


def test_view_full_guides_and_shows_rows_as_published():
    environment = intercode_sql.Environment(view="full", rows=2, schema=True)
    first = environment.reset(task(), 0)
    assert first.startswith(views.GUIDE)
    assert "say submit" in first
    assert "Tables: goods(cost, title, left, sort)" in first
    assert first.endswith("Question: names of kind toy")
    said = environment.step("SELECT title, cost FROM goods ORDER BY cost").observation
    assert said == "[('ball', 5), ('kite', 7)] and 1 more of 3 rows"
    said = environment.step("SELECT name FROM goods").observation
    assert said == "Error executing query: no such column: name"


def test_replies_are_cut():
    environment = intercode_sql.Environment(rows=1, cut=8)
    steps = play(environment, ["SELECT title FROM goods", "SELECT 'a long text'"])
    assert steps[0].observation == "ball ; 3..."
    assert steps[1].observation == "a long t..."


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"view": "loud"}, "unknown view 'loud'; known: terse, full"),
        ({"reward": "none"}, "unknown reward 'none'; known: success, intercode"),
        ({"rows": 0}, "rows is 0; legal is 1 or more"),
        ({"cut": 0}, "cut is 0; legal is 1 or more"),
        ({"penalty": -1.0}, "penalty is -1.0; legal is 0 or more"),
    ],
)
def test_options_of_the_environment_are_checked(options, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        intercode_sql.Environment(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "web"}, "unknown source 'web'; known: shop_queries, spider"),
        ({"protocol": "skip"}, "unknown protocol 'skip'; known: submit, auto"),
        ({"names": 5}, "names is 5; legal is 1 to 4"),
        ({"train": -1}, "train is -1; legal is 0 or more"),
        ({"seconds": 0}, "seconds is 0; legal is above 0"),
        ({"rows": 0}, "rows is 0; legal is 1 or more"),
    ],
)
def test_options_of_tasks_are_checked(options, message):
    for call in (intercode_sql.least_turns, lambda **more: intercode_sql.tasks(0, **more)):
        with pytest.raises(ValueError, match=f"^{message}$"):
            call(**{"train": 1, "test": 1} | options)


def test_a_gold_query_that_does_not_run_is_named():
    with pytest.raises(ValueError, match=r"^gold query 'SELECT nose FROM goods' does not run: "):
        intercode_sql.Environment().reset(task(gold="SELECT nose FROM goods"), 0)


def test_no_statement_without_a_question():
    environment = intercode_sql.Environment()
    with pytest.raises(RuntimeError, match="call reset first"):
        environment.step("submit")
    play(environment, ["submit"])
    with pytest.raises(RuntimeError, match="call reset first"):
        environment.step("submit")


def test_databases_are_clusters_where_there_are_many():
    tasks = intercode_sql.tasks(1, train=0, test=300)
    assert {one.cluster for one in tasks} == {one.payload["database"] for one in tasks}
    few = intercode_sql.tasks(1, train=0, test=60)
    assert [one.cluster for one in few] == [one.task_id for one in few]


@pytest.mark.parametrize("skill", [0.0, 0.5, 1.0])
def test_the_expert_says_at_train_tasks_nothing_that_answers_a_test_question(skill):
    environment = intercode_sql.Environment()
    tasks = intercode_sql.tasks(1, train=60, test=300)
    held = {one.payload["gold"] for one in tasks if one.split == "test"}
    said, solved = set(), 0
    for one in tasks[:60]:
        environment.reset(one, 0)
        for turn in range(8):
            seed = draws.seed("expert", one.task_id)
            action = intercode_sql.expert(environment, seed, turn, skill, 8 - turn)
            said.add(action)
            step = environment.step(action)
            solved += step.success
            if step.terminated:
                break
    assert not said & held
    # Names are looked up, the query is right, and it is submitted, by who never errs.
    assert (solved == 60) == (skill == 1.0)


def test_there_is_no_expert_of_other_questions():
    environment = intercode_sql.Environment()
    environment.reset(task(), 0)
    environment.asked = environment.asked._replace(shop=None)
    with pytest.raises(ValueError, match="has no expert"):
        intercode_sql.expert(environment, 1, 0, 0.5, 8)


@pytest.mark.parametrize("reward", ["success", "intercode"])
def test_a_statement_without_a_result_answers_nothing_even_where_no_row_is_asked_for(reward):
    about = task("names of kind food", "SELECT title FROM goods WHERE sort = 'food'")
    environment = intercode_sql.Environment(reward=reward)
    assert play(environment, ["USE shop", "submit"], about)[-1] == Step(views.WRONG, 0.0, True)
    empty = play(environment, ["SELECT title FROM goods WHERE cost > 99", "submit"], about)[-1]
    assert empty == Step(views.RIGHT, 1.0, True, True)


def test_without_submitting_the_expert_does_not_submit():
    environment = intercode_sql.Environment()
    environment.reset(task(protocol="auto"), 0)
    steps = [
        environment.step(intercode_sql.expert(environment, 1, turn, 1.0, 3 - turn))
        for turn in range(3)
    ]
    assert all(step.valid for step in steps)
    assert steps[-1].success


def test_many_shops_are_played_in_any_order_and_side_by_side():
    tasks = intercode_sql.tasks(1, train=6500, test=0)
    # Two of each shop, far from each other.
    tasks = [*tasks[::10], *tasks[5::10]]
    environments = [intercode_sql.Environment() for _ in tasks]
    for environment, one in zip(environments, tasks, strict=True):
        environment.reset(one, 0)
    for environment, one in zip(environments, tasks, strict=True):
        assert environment.step(one.payload["gold"]).valid
        assert environment.step("submit").success
