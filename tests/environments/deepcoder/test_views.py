from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.environments.deepcoder.by_hand import DOUBLE, SCRIPT
from turnscope.environments.deepcoder import views
from turnscope.environments.deepcoder.judge import Outcome, Verdict
from turnscope.environments.deepcoder.problems import Case, Problem
from turnscope.sandbox import Status

LISTS = Problem(
    name="list",
    statement="numbers above C plus K",
    entry="f",
    starter="def f(x):",
    public=(Case([[1, 5, 0]], [8, 3]), Case([[]], []), Case([[-2], 3], "no")),
    private=(Case([[7]], [10]),),
    solution=None,
    stratum="list",
)


def verdict(*public: Outcome, kind: str = "failed", private: int = 0) -> Verdict:
    return Verdict(kind, public, private, 1, "0" * 8)


def got(said: str, passed: bool = False, status: Status = Status.OK) -> Outcome:
    return Outcome(passed, status, said)


@pytest.mark.parametrize(
    ("action", "program"),
    [
        ("x = 1", "x = 1"),
        ("  x = 1\n", "  x = 1\n"),
        ("", None),
        (" \n\t", None),
        ("```\nx = 1\n```", "x = 1\n"),
        ("Look:\n```python\nx = 1\n```\nDone.", "x = 1\n"),
        ("```py3 title=a\nx = 1\n```", "x = 1\n"),
        ("```python\r\nx = 1\r\n```", "x = 1\r\n"),
        ("```python\nx = 1\n```\nNo:\n```python\nx = 2\n```", "x = 2\n"),
        ("```python\nx = 1\n```\n```json\n{}\n```", "{}\n"),
        ("```python\nx = 1\n```\n```\n\n```", "x = 1\n"),
        ("```\nx = 1\n```\n```\nx = 2\n```\n``` \n\t\n```\n```\n```", "x = 2\n"),
        ("x = 1\n```\n \n```", None),
        ("```\n```", None),
        ("```python\nx = 1", "x = 1"),
        ("```python\nx = 1\n```\n```python\nx = 2\ny = 3", "x = 2\ny = 3"),
        ("```python", "```python"),
        ("say ```x``` and stop", "say ```x``` and stop"),
        ("````\nx = 1\n````", "x = 1\n"),
        ("```python\nx = '`'\n```", "x = '`'\n"),
        ("  ```python\n  x = 1\n  ```", "  x = 1\n  "),
    ],
)
def test_the_program_of_an_answer(action, program):
    assert views.program_in(action) == program


@given(st.text(st.characters(exclude_characters="`")), st.text(), st.sampled_from(["", "python"]))
def test_the_last_block_is_the_program_whatever_stands_before_it(program, before, language):
    opened = before.count("```") % 2 == 1 or before.endswith("`")
    found = views.program_in(f"{before}{'```' if opened else ''}\n```{language}\n{program}```")
    if not opened and "`" not in before:
        assert found == (program if program.strip() else None)
    assert found is None or "```" not in found or "`" in before


@given(st.lists(st.text(st.characters(exclude_characters="`")), min_size=1, max_size=5))
def test_the_last_block_that_is_not_empty_is_the_program(blocks):
    said = "".join(f"So:\n```python\n{block}```\n" for block in blocks)
    full = [block for block in blocks if block.strip()]
    assert views.program_in(said) == (full[-1] if full else None)


@pytest.mark.parametrize(
    "said",
    [
        *("submit", "Submit", "SUBMIT", " submit\n", "\tsubmit\r\n", "submit.", "`submit`"),
        *("'submit'", '"submit"', '"Submit."', "`submit`.", "```\nsubmit\n```"),
        *("</think>submit", "<think>\ndef f(x): return 1\n</think>\n\nsubmit"),
        "<think>submit</think> or <think>```python\npass\n```</think> `Submit`.",
    ],
)
def test_the_word_alone_submits(said):
    assert views.is_submit(said)


@pytest.mark.parametrize(
    "said",
    [
        *("", " ", ".", "``", "</think>", "submit now", "I submit", "submit submit", "sub mit"),
        *("submits", "submit()", "submit = 1", "submit!", "```python\nsubmit\n```", "# submit"),
        *("submit</think>", "submit</think>def f(x): return 1", "<think>submit"),
        "</think>submit</think>\n```python\nx = 1\n```",
    ],
)
def test_more_than_the_word_does_not_submit(said):
    assert not views.is_submit(said)


CASES = st.lists(st.booleans(), min_size=6, max_size=6).map(
    lambda large: "".join(a.upper() if up else a for a, up in zip("submit", large, strict=True))
)
AROUND = st.text(" \t\r\n`'\".", max_size=6)


@given(CASES, AROUND, AROUND, st.none() | st.text())
def test_case_quotes_and_reasoning_do_not_matter_to_submit(word, left, right, reasoning):
    before = "" if reasoning is None else f"{reasoning}</think>"
    assert views.is_submit(f"{before}{left}{word}{right}")
    assert not views.is_submit(f"{before}{left}{word}{right}</think>{left}")
    assert not views.is_submit(f"{before}{left}{word}{right}x = 1{right}")


def test_the_first_observation_terse():
    assert views.first(DOUBLE, "terse", 300) == "Double a number. : 1 = 2 ; 2 = 4"
    assert (
        views.first(LISTS, "terse", 300)
        == "numbers above C plus K : 1 5 0 = 8 3 ; none = none ; -2 3 = no"
    )
    assert views.first(LISTS, "terse", 3).endswith(
        " : 1 5... = 8 3 ; non... = non... ; -2 ... = no"
    )


def test_the_first_observation_in_full():
    assert views.first(LISTS, "full", 8) == (
        "Write a Python function `f` that solves the problem below. Answer with the whole program "
        "in one block of three backticks. It is run on the public tests, of which failures are "
        "shown to you, and on hidden ones. To end with your last program, answer `submit` alone.\n"
        "\n"
        "numbers above C plus K\n"
        "\n"
        "Start from:\n"
        "```python\n"
        "def f(x):\n"
        "```\n"
        "\n"
        "Public test 1\n"
        "Input: [1, 5, 0...\n"
        "Output: [8, 3]\n"
        "\n"
        "Public test 2\n"
        "Input: []\n"
        "Output: []\n"
        "\n"
        "Public test 3\n"
        "Input: [-2], 3\n"
        "Output: no"
    )


def test_the_first_observation_of_a_script_in_full():
    head, statement, test = views.first(SCRIPT, "full", 300).split("\n\n", 2)
    assert head.startswith(
        "Write a Python program that reads standard input and writes standard output that solves"
    )
    assert statement == "Double each number."
    assert test == "Public test 1\nInput: 1\n2\n\nOutput: 2\n4\n"


def test_what_can_be_done_is_said_as_it_is_understood():
    assert f"`{views.SUBMIT}`" in views.first(LISTS, "full", 9)
    started = views.first(LISTS, "full", 9)
    assert views.program_in(started) == "def f(x):\n"


REPLIES = [
    (
        "wrong answers",
        LISTS,
        verdict(got("[8]"), got("[]", True), got("null")),
        "1 5 0 = 8 3 not 8 ; -2 3 = no not null",
        "1 of 3 public tests pass.\n\n"
        "Public test 1 fails\nInput: [1, 5, 0]\nExpected: [8, 3]\nGot: [8]\n\n"
        "Public test 3 fails\nInput: [-2], 3\nExpected: no\nGot: null",
    ),
    (
        "empty answers",
        LISTS,
        verdict(got("[]"), got("", False), got("[[], [0]]")),
        "1 5 0 = 8 3 not none ; none = none not none ; -2 3 = no not 0",
        "0 of 3 public tests pass.\n\n"
        "Public test 1 fails\nInput: [1, 5, 0]\nExpected: [8, 3]\nGot: []\n\n"
        "Public test 2 fails\nInput: []\nExpected: []\nGot: \n\n"
        "Public test 3 fails\nInput: [-2], 3\nExpected: no\nGot: [[], [0]]",
    ),
    (
        "an error",
        DOUBLE,
        verdict(got("2", True), got("ZeroDivisionError: division by zero", status=Status.ERROR)),
        "2 = 4 not error",
        "1 of 2 public tests pass.\n\n"
        "Public test 2 fails\nInput: 2\nExpected: 4\n"
        "Stopped (error): ZeroDivisionError: division by zero",
    ),
    (
        "a limit",
        DOUBLE,
        verdict(*[got("took more than 2 s", status=Status.TIMEOUT)] * 2, kind="timeout"),
        "1 = 2 not timeout ; 2 = 4 not timeout",
        "0 of 2 public tests pass.\n\n"
        "Public test 1 fails\nInput: 1\nExpected: 2\nStopped (timeout): took more than 2 s\n\n"
        "Public test 2 fails\nInput: 2\nExpected: 4\nStopped (timeout): took more than 2 s",
    ),
    (
        "no syntax",
        DOUBLE,
        verdict(*[got("SyntaxError: bad", status=Status.SYNTAX)] * 2, kind="syntax"),
        "syntax",
        "no program runs: SyntaxError: bad",
    ),
    (
        "no function",
        DOUBLE,
        verdict(*[got("f is not defined", status=Status.MISSING)] * 2, kind="missing"),
        "missing",
        "no program runs: f is not defined",
    ),
    (
        "no failure but of hidden tests",
        DOUBLE,
        verdict(got("2", True), got("4", True), kind="passed"),
        "public tests pass",
        "public tests pass; check it again, or submit",
    ),
    (
        "no syntax behind a wrong answer, as a forger may say",
        DOUBLE,
        verdict(got("3"), got("SyntaxError: bad", status=Status.SYNTAX), kind="syntax"),
        "1 = 2 not 3 ; 2 = 4 not syntax",
        "0 of 2 public tests pass.\n\n"
        "Public test 1 fails\nInput: 1\nExpected: 2\nGot: 3\n\n"
        "Public test 2 fails\nInput: 2\nExpected: 4\nStopped (syntax): SyntaxError: bad",
    ),
]


@pytest.mark.parametrize(("case", "problem", "found", "terse", "full"), REPLIES)
def test_replies(case, problem, found, terse, full):
    assert views.reply(problem, found, "terse", 3, 300) == terse
    assert views.reply(problem, found, "full", 3, 300) == full


@given(
    st.sampled_from(REPLIES),
    st.sampled_from(views.VIEWS),
    st.integers(0, 1),
    st.tuples(st.integers(), st.text(st.characters(categories=["L"]), min_size=5)),
)
def test_a_reply_says_nothing_of_hidden_tests(case, view, private, hidden):
    _, problem, found, *_ = case
    told = views.reply(problem, found, view, 3, 300)
    other = replace(problem, private=(Case([hidden[0]], hidden[1]),), solution=hidden[1])
    assert views.reply(other, found._replace(private=private), view, 3, 300) == told
    assert views.first(other, view, 300) == views.first(problem, view, 300)


@pytest.mark.parametrize("view", views.VIEWS)
def test_at_most_so_many_failures_are_shown(view):
    found = verdict(got("0"), got("1"), got("2"))
    for most in (1, 2, 3, 4):
        told = views.reply(LISTS, found, view, most, 300)
        shown = told.count(" not ") if view == "terse" else told.count(" fails\n")
        assert shown == min(most, 3)
    assert "0 of 3" in views.reply(LISTS, found, "full", 1, 300)


@pytest.mark.parametrize("status", [one for one in Status if one is not Status.OK])
def test_a_test_that_stopped_is_told_by_its_status_alone(status):
    found = verdict(got("2"), got("why: [a, b]", status=status), kind=str(status))
    assert views.reply(DOUBLE, found, "terse", 3, 1) == f"1 = 2 not 2 ; 2 = 4 not {status}"
    full = views.reply(DOUBLE, found, "full", 3, 300)
    assert full.endswith(f"\nStopped ({status}): why: [a, b]")


@given(st.text(max_size=40), st.integers(1, 50))
def test_what_is_cut_is_marked_and_what_fits_is_not(text, most):
    (line,) = views.reply(DOUBLE, verdict(got(text), got("4", True)), "full", 1, most).split(
        "\n\nPublic test 1 fails\nInput: 1\nExpected: 2\nGot: "
    )[1:]
    assert line == (text if len(text) <= most else text[:most] + "...")


def test_a_terse_reply_is_one_line_of_plain_words():
    found = verdict(got("a\n[b,\tc]  d"), got("4", True))
    assert views.reply(DOUBLE, found, "terse", 3, 300) == "1 = 2 not a b c d"
