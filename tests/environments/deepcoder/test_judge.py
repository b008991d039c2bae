from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.environments.deepcoder.by_hand import (
    ASKED,
    DOUBLE,
    LINES,
    RIGHT,
    SHOWN,
    WRONG,
    judged,
    task,
)
from turnscope import draws
from turnscope.environments.deepcoder import list_programs
from turnscope.environments.deepcoder.judge import (
    Judge,
    exercise,
    shared,
)
from turnscope.environments.deepcoder.problems import Case, Problem


def test_a_known_program_is_not_run_again():
    one = Judge()
    first = one.verdict(ASKED, RIGHT["double"])
    assert (one.runs, one.hits) == (1, 0)
    assert one.verdict(ASKED, RIGHT["double"]) == first
    assert (one.runs, one.hits) == (1, 1)
    one.verdict(ASKED, RIGHT["double"] + " ")
    assert (one.runs, one.hits) == (2, 1)


def test_a_verdict_is_of_tests_and_limits_and_the_name_of_the_function():
    one = Judge()
    text = "def f(x): return 2 * x\ng = abs"
    more = replace(DOUBLE, private=(*DOUBLE.private, Case([7], 0)))
    shown = replace(DOUBLE, public=DOUBLE.public[:1])
    moved = replace(
        DOUBLE, public=DOUBLE.private[:1], private=(*DOUBLE.public, *DOUBLE.private[1:])
    )
    for problem in (DOUBLE, more, shown, moved, replace(DOUBLE, entry="g")):
        one.verdict(exercise(task(problem)), text)
    for name, value in (("cpu", 0.4), ("wall", 9.0), ("memory", 300), ("output", 99)):
        one.verdict(exercise(task(DOUBLE, **{name: value})), text)
    assert (one.runs, one.hits) == (9, 0)
    assert [found.solved for found in one._known.values()] == [True, False, True, True, False] + [
        True
    ] * 4


def test_a_name_and_a_statement_are_not_part_of_the_tests():
    one = Judge()
    one.verdict(ASKED, WRONG["double"])
    other = replace(DOUBLE, name="other", statement="?", solution=None, stratum="x")
    one.verdict(exercise(task(other)), WRONG["double"])
    assert (one.runs, one.hits) == (1, 1)


def test_room_is_bounded_and_the_oldest_goes_first():
    one = Judge(room=3)
    texts = [f"def f(x): return {number}" for number in range(4)]
    for text in texts[:3]:
        one.verdict(ASKED, text)
    one.verdict(ASKED, texts[0])
    one.verdict(ASKED, texts[3])  # forgets texts[1]
    assert len(one._known) == 3
    one.verdict(ASKED, texts[0])
    assert (one.runs, one.hits) == (4, 2)
    one.verdict(ASKED, texts[1])
    assert (one.runs, one.hits) == (5, 2)


@pytest.mark.parametrize("workers", [1, 2])
def test_judging_ahead_changes_no_verdict(workers):
    texts = [*RIGHT.values(), *SHOWN.values(), *WRONG.values(), "def f(x): return 1 / 0", "x", ""]
    asked = [
        (one._replace(settings=one.settings._replace(workers=workers)), text)
        for text in texts
        for one in (ASKED, LINES)
    ]
    # No function is called in a script; five texts have no name of one for the other problem.
    run = len(asked) - 5
    one = Judge()
    one.ahead([*asked, *asked])
    assert (one.runs, one.hits) == (run, 0)
    assert [one.verdict(*job) for job in asked] == [Judge().verdict(*job) for job in asked]
    assert (one.runs, one.hits) == (run, 0), "the first look at it is no hit"
    one.ahead(asked)
    for job in asked:
        one.verdict(*job)
    assert (one.runs, one.hits) == (run, len(asked))


def test_only_programs_that_are_run_are_counted():
    one = Judge()
    nameless = ["x = 1", "def g(x): return 2 * x", "", "while True: pass", "def f2(x): return x"]
    one.ahead([(ASKED, text) for text in nameless])
    assert (one.runs, one.hits) == (0, 0)
    assert {one.verdict(ASKED, text).kind for text in nameless} == {"missing"}
    assert one.verdict(ASKED, "f_ = g").kind == "missing"
    assert (one.runs, one.hits) == (0, 0)
    assert one.verdict(ASKED, "f_ = g").kind == "missing"
    assert (one.runs, one.hits) == (0, 1)
    assert one.verdict(ASKED, "# f").kind == "missing"
    assert (one.runs, one.hits) == (1, 1)
    one.ahead([(ASKED, "y = 1"), (LINES, "y = 1"), (ASKED, "def f(x): return 3")])
    assert (one.runs, one.hits) == (3, 1)


def test_a_process_has_one_judge():
    assert shared() is shared()
    assert shared() is not Judge()


def test_more_ahead_than_there_is_room_for_is_judged_again():
    one = Judge(room=2)
    jobs = [(ASKED, f"def f(x): return {number}") for number in range(4)]
    one.ahead(jobs)
    assert len(one._known) == 2
    assert [one.verdict(*job) for job in jobs] == [judged(text) for _, text in jobs]
    assert len(one._known) == len(one._fresh | one._known.keys()) == 2


def test_nothing_ahead_is_nothing():
    one = Judge()
    one.ahead([])
    assert (one.runs, one.hits) == (0, 0)


CATALOGUE = [*list_programs.catalogue()]


(POSED,) = list_programs.problems(1, "train", 1)


MUTATED = st.builds(
    lambda text, at, cut, word: text[: at % len(text)] + word + text[at % len(text) + cut :],
    st.sampled_from(CATALOGUE),
    st.integers(0, 99),
    st.integers(0, 4),
    st.sampled_from(["", " ", "0", "a", "x", "(", "]", "\n", "\0", "\ud800", "é", "#", "'"]),
)


SHARED = Judge()


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(CATALOGUE) | MUTATED)
def test_a_verdict_that_is_remembered_is_that_of_a_fresh_judge(text):
    asked = exercise(task(POSED))
    SHARED.ahead([(asked, text)])
    runs = SHARED.runs
    assert (
        SHARED.verdict(asked, text) == SHARED.verdict(asked, text) == Judge().verdict(asked, text)
    )
    assert SHARED.runs == runs


def test_verdicts_of_many_problems_do_not_mix():
    problems: list[Problem] = [*list_programs.problems(2, "train", 12)]
    jobs = [(exercise(task(one)), str(other.solution)) for one in problems for other in problems]
    one = Judge()
    order = sorted(range(len(jobs)), key=lambda place: draws.mix(1, place))
    one.ahead([jobs[place] for place in order])
    solved = [one.verdict(*job).solved for job in jobs]
    alike = [a.solution == b.solution for a in problems for b in problems]
    assert solved == alike


def test_programs_that_differ_in_half_characters_are_not_one():
    texts = [f"def f(x): return 2 * x  # {mark}" for mark in ("?", "\ud800", "\udfff", "\ufffd")]
    one = Judge()
    assert [one.verdict(ASKED, text).kind for text in texts] == [
        *("passed", "syntax", "syntax", "passed")
    ]
    assert (one.runs, one.hits) == (4, 0)
