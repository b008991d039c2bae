from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.environments.deepcoder.by_hand import DOUBLE, RIGHT, SCRIPT, SHOWN, WRONG, play, task
from turnscope.environments import deepcoder
from turnscope.environments.deepcoder import grading, list_programs
from turnscope.environments.deepcoder.grading import EMPTY, START, errors, key_of, parse
from turnscope.environments.deepcoder.judge import Outcome, Verdict, exercise
from turnscope.environments.deepcoder.problems import Case, Problem
from turnscope.sandbox import Status
from turnscope.types import Quality, Turn

KINDS = ["passed", "failed", *(status for status in Status if status is not Status.OK)]
HALF = "def f(x): return 2 * x if x > 0 else 1"
"""Passes the public tests and two of the four hidden ones of `DOUBLE`."""
CRASH = "def f(x): return 2 * x if x > 2 else 1 / 0"
"""Fails both public tests and passes two hidden ones."""
LATE = "def f(x): return 3 if x == 2 else 2 * x if x > 0 else 1 / 0"
"""Gives a wrong answer to a public test and crashes at two hidden ones, of which nobody is told."""
QUIET = "def f(x): return 2 * x if x > 0 else 1 / 0"
"""Passes the public tests and crashes at two of the four hidden ones."""


def named(problem: Problem, *actions: str) -> list[list[str]]:
    """Return the errors of each turn of an episode that only `submit` ends."""
    found, before = [], START
    for action, (step, after) in zip(actions, play(problem, *actions, ends="submit"), strict=True):
        turn = Turn("", before, action, step.reward, step.valid)
        found.append(errors(task(problem), turn, after, 3))
        before = after
    return found


@given(
    st.sampled_from(KINDS),
    st.lists(st.booleans(), min_size=1, max_size=5),
    st.integers(1, 20).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))),
    st.text("0123456789abcdef", min_size=8, max_size=8),
)
def test_a_state_is_read_as_it_was_written(kind, public, hidden, digest):
    outcomes = tuple(Outcome(fine, Status.OK, "said") for fine in public)
    found = Verdict(kind, outcomes, hidden[0], hidden[1], digest)
    shares = sum(public) / len(public), hidden[0] / hidden[1]
    assert parse(key_of(found)) == (kind, *shares)
    assert key_of(found).split()[-1] == digest


def test_states_by_hand():
    keys = [key for _, key in play(DOUBLE, WRONG["double"], "", CRASH, HALF, ends="all")]
    assert keys[0].startswith("failed 1/2 0/4 ")
    assert keys[1] == EMPTY
    assert keys[2].startswith("error 0/2 2/4 ")
    assert keys[3].startswith("passed 2/2 2/4 ")
    assert parse(START) == ("start", 0, 0.0)
    assert parse(EMPTY) == ("empty", 0, 0.0)


def test_programs_that_answer_alike_lead_to_one_state_and_others_to_others():
    alike = ["def f(x): return x + x", "```python\ndef f(y):\n    return y * 2\n```"]
    others = [WRONG["double"], SHOWN["double"], HALF, CRASH, LATE, "def f(x:", "x = 1", ""]
    keys = {play(DOUBLE, text)[0][1] for text in [*alike, *others]}
    assert len(keys) == 1 + len(others)


def test_submit_leaves_the_state_of_the_last_program():
    (_, last), (_, end) = play(DOUBLE, HALF, "submit", ends="submit")
    assert last == end
    (_, start), (_, right) = play(DOUBLE, "submit", RIGHT["double"])
    assert start == START
    assert right.startswith("passed 2/2 4/4 ")


@pytest.mark.parametrize(
    ("action", "quality"),
    [
        (RIGHT["double"], 1.0),
        (SHOWN["double"], 0.25),
        (HALF, 0.5),
        (CRASH, 0.5),
        (f"Maybe\n```python\n{CRASH}\n```\nso.", 0.5),
        ("def f(x): return -8 if x == -4 else 0", 0.5),
        (WRONG["double"], 0.0),
        ("def f(x:", 0.0),
        ("x = 1", 0.0),
        ("", 0.0),
        ("```\n```", 0.0),
    ],
)
def test_the_quality_is_the_share_of_hidden_tests_in_every_state(action, quality):
    for state in (START, EMPTY, "failed 2/2 3/4 00000000"):
        for left in (1, 7):
            found = grading.step_quality(task(), state, action, left)
            assert found == Quality(quality, 1.0)


def test_submit_is_as_good_as_what_it_submits():
    for state, quality in ((START, 0.0), (EMPTY, 0.0), ("failed 2/2 3/4 00000000", 0.75)):
        assert grading.step_quality(task(), state, " submit\n", 1) == Quality(quality, 1.0)
    _, (_, state) = play(DOUBLE, RIGHT["double"], HALF, ends="submit")
    assert grading.step_quality(task(), state, "submit", 1).value == 0.5


@pytest.mark.parametrize("name", ["double", "script"])
def test_a_program_that_solves_its_task_and_no_other_is_of_quality_one(name):
    problem = {"double": DOUBLE, "script": SCRIPT}[name]
    for action in (RIGHT[name], SHOWN[name], WRONG[name]):
        value = grading.step_quality(task(problem), START, action, 1).value
        ((step, key),) = play(problem, action)
        assert (value == 1.0) == step.success
        assert value == parse(key)[2]


def test_errors_by_hand():
    assert named(DOUBLE, "def f(x): return 7") == [["stalled"]]
    assert named(DOUBLE, WRONG["double"]) == [[]], "one public test is more than none"
    assert named(DOUBLE, RIGHT["double"]) == [[]]
    assert named(DOUBLE, HALF) == [[]], "who fails hidden tests alone cannot know"
    assert named(DOUBLE, CRASH) == [["stalled", "crash"]]
    assert named(DOUBLE, LATE) == [[]], "no crash that only hidden tests show"
    assert named(DOUBLE, QUIET) == [[]], "nor is it a failure"
    for nothing in ("", "```\n```", "submit", "def f(x:", "x = 1"):
        assert named(DOUBLE, nothing) == [["stalled", "crash"]]


def test_to_stall_is_to_pass_no_more_public_tests_than_the_program_before():
    wrong, none = WRONG["double"], "def f(x): return 7"
    assert named(DOUBLE, wrong, wrong) == [[], ["stalled"]]
    assert named(DOUBLE, wrong, "def f(x): return 2 if x == 1 else 8") == [[], ["stalled"]]
    assert named(DOUBLE, wrong, none, wrong, RIGHT["double"]) == [[], ["stalled"], [], []]
    assert named(DOUBLE, wrong, "", wrong) == [[], ["stalled", "crash"], []]
    assert named(DOUBLE, wrong, CRASH) == [[], ["stalled", "crash"]]


def test_a_program_that_passes_all_public_tests_does_not_stall():
    assert named(DOUBLE, HALF, RIGHT["double"]) == [[], []]
    assert named(DOUBLE, HALF, HALF, QUIET) == [[], [], []]


def test_a_drop_is_from_one_program_to_the_next():
    assert named(DOUBLE, CRASH, WRONG["double"], HALF, "def f(x): return 7", HALF) == [
        ["stalled", "crash"],
        ["drop"],
        [],
        ["stalled", "drop"],
        [],
    ]
    assert named(DOUBLE, HALF, CRASH) == [[], ["stalled", "crash"]], "as many pass as before"
    assert named(DOUBLE, HALF, "") == [[], ["stalled", "crash", "drop"]]
    assert "drop" in named(DOUBLE, RIGHT["double"], HALF)[-1], "though all public tests pass"


def test_to_submit_is_an_error_only_if_its_program_was():
    assert named(DOUBLE, RIGHT["double"], "submit")[-1] == []
    assert named(DOUBLE, WRONG["double"], "submit")[-1] == ["stalled"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_crash_is_whatever_is_no_answer(kind):
    turn = Turn("", START, "", 0.0, True)
    met = errors(task(), turn, f"{kind} 1/2 0/4 00000000", 1)
    assert ("crash" in met) == (kind not in ("passed", "failed"))


def test_errors_are_named_in_order():
    turn = Turn("", "passed 2/2 4/4 00000000", "", 0.0, True)
    assert errors(task(), turn, EMPTY, 1) == list(grading.ERRORS)


def posed(kind: str) -> deepcoder.Task:
    return next(one for one in deepcoder.tasks(4, train=8, test=0) if one.stratum == kind)


@pytest.mark.parametrize("kind", list_programs.KINDS)
def test_mistakes_are_wrong_when_they_are_run_and_the_solution_is_none(kind):
    one = posed(kind)
    wrong = grading.mistakes(one, START, 3)
    assert len(wrong) >= 5
    assert len(set(wrong)) == len(wrong)
    for text in wrong:
        assert grading.step_quality(one, START, text, 3).value < 1
    assert exercise(one).problem.solution not in wrong


def test_mistakes_do_not_depend_on_the_state():
    one = posed("sum")
    assert grading.mistakes(one, START, 9) == grading.mistakes(one, "failed 1/3 2/8 0", 1)


SIMPLE = ("0", "1", "''", "[]", "True", "None")


@pytest.mark.parametrize("problem", [DOUBLE, SCRIPT], ids=lambda one: one.name)
def test_elsewhere_mistakes_are_simple_programs_of_the_right_name(problem):
    named = replace(problem, entry="g") if problem.entry else problem
    form = "def g(*_): return {}" if problem.entry else "print({})"
    assert grading.mistakes(task(named), START, 3) == [form.format(one) for one in SIMPLE]


@pytest.mark.parametrize(
    ("output", "right"),
    [(0, {"0"}), (1, {"1", "True"}), ("", {"''"}), ([], {"[]"}), (None, {"None"}), (7, set())],
)
def test_a_simple_program_that_is_right_is_no_mistake(output, right):
    wanted = (Case([3], output), Case([4, 5], output))
    problem = replace(DOUBLE, private=wanted, solution=f"def f(*_): return {output!r} # so")
    wrong = grading.mistakes(task(problem), START, 3)
    left = [one for one in SIMPLE if one not in right]
    assert wrong == [f"def f(*_): return {one}" for one in left]
    for text in wrong:
        assert grading.step_quality(task(problem), START, text, 3) == Quality(0.0, 1.0)


def test_a_simple_program_that_passes_all_hidden_tests_but_one_is_a_mistake():
    problem = replace(DOUBLE, private=(Case([0], 0), Case([-1], 0), Case([3], 6)))
    wrong = grading.mistakes(task(problem), START, 3)
    assert "def f(*_): return 0" in wrong
    assert grading.step_quality(task(problem), START, "def f(*_): return 0", 3).value == 2 / 3


def test_mistakes_fail_a_hidden_test_of_the_problem_at_hand():
    # A file may have a function of the catalogue with tests that tell it from few others.
    weak = (Case([[]], []),)
    shown = (Case([[1]], [4]),)
    solution = "def f(x): return [ a + 3 for a in x ]"
    assert solution in list_programs.catalogue()
    one = task(replace(DOUBLE, public=shown, private=weak, solution=solution))
    wrong = grading.mistakes(one, START, 3)
    assert all(grading.step_quality(one, START, text, 3).value < 1 for text in wrong)
