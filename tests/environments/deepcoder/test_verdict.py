import json
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
from turnscope.environments.deepcoder import list_programs
from turnscope.environments.deepcoder.judge import (
    SHOWN as LONGEST,
)
from turnscope.environments.deepcoder.judge import (
    Outcome,
    Verdict,
    exercise,
)
from turnscope.environments.deepcoder.problems import Case, spell
from turnscope.sandbox import Status

CATALOGUE = [*list_programs.catalogue()]
(POSED,) = list_programs.problems(1, "train", 1)


def test_a_verdict_by_hand():
    found = judged("def f(x): return {1: 2, 3: 6, -4: -8}.get(x)")
    assert found.kind == "failed"
    assert found.public == (Outcome(True, Status.OK, "2"), Outcome(False, Status.OK, "null"))
    assert (found.private, found.hidden) == (2, 4)
    assert (found.valid, found.shown, found.passes, found.solved) == (True, 1, False, False)


def test_a_solution_passes_all():
    for asked, name in ((ASKED, "double"), (LINES, "script")):
        found = judged(RIGHT[name], asked)
        assert (found.kind, found.passes, found.solved) == ("passed", True, True)
        assert found.private == found.hidden
        found = judged(SHOWN[name], asked)
        assert (found.kind, found.passes, found.solved) == ("passed", True, False)
        assert found.private < found.hidden


def test_tests_go_on_behind_one_that_fails():
    assert judged("def f(x): return 2 * x if x > 2 else 1 / 0").private == 2
    found = judged("import sys\nfor x in sys.stdin: print(2 * int(x) if x != '1\\n' else 0)", LINES)
    assert (found.shown, found.private) == (0, 2)


@pytest.mark.parametrize(
    ("text", "kind", "valid"),
    [
        ("def f(x:", "syntax", False),
        ("def g(x): return 2 * x", "missing", False),
        ("f = 2", "missing", False),
        ("def f(x): return 1 / (x - 2)", "error", True),  # at the second public test only
        ("def f(x):\n    while x == 2: pass\n    return x", "timeout", True),
        ("import os\ndef f(x): os._exit(0)", "killed", True),
        ("def f(x): return 'x' * 10**7", "output", True),
        ("def f(x): return bytearray(1 << 44)", "memory", True),
        ("def f(x): return x", "failed", True),
    ],
)
def test_kinds(text, kind, valid):
    found = judged(text)
    assert (found.kind, found.valid, found.solved) == (kind, valid, False)


@pytest.mark.parametrize(
    "late",
    [
        *("1 / 0", "open('/nowhere')", "exit()", "'x' * 10**7", "bytearray(1 << 44)", "f(x)"),
        *("[0 for _ in iter(int, 1)]", "__import__('os')._exit(0)", "0", "None"),
    ],
)
@pytest.mark.parametrize(("early", "kind"), [("2 * x", "passed"), ("x", "failed")])
def test_hidden_tests_have_no_part_in_the_kind(early, kind, late):
    found = judged(f"def f(x): return {early} if x in (1, 2) else {late}")
    assert (found.kind, found.valid, found.solved) == (kind, True, False)
    assert found.passes == (kind == "passed")
    assert [outcome.status for outcome in found.public] == [Status.OK] * 2


@given(
    st.lists(st.sampled_from([True, *Status]), min_size=1, max_size=4),
    st.integers(1, 5).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))),
)
def test_what_a_verdict_says_follows_from_counts(public, hidden):
    outcomes = tuple(
        Outcome(one is True, Status.OK if one is True else one, "said") for one in public
    )
    found = Verdict("any", outcomes, hidden[0], hidden[1], "0" * 8)
    assert found.shown == public.count(True)
    assert found.passes == all(one is True for one in public)
    assert found.solved == (found.passes and hidden[0] == hidden[1])


def test_a_function_is_found_in_every_way_to_write_its_name():
    assert judged("class Solution:\n    def f(self, x): return 2 * x").solved
    assert judged("def ｆ(x): return 2 * x").solved
    assert judged("f=lambda x:x*2").solved
    assert judged("globals()['f'] = lambda x: 2 * x").solved
    named = replace(DOUBLE, entry="of")
    assert judged("def f(x): return x\nof = f", exercise(task(named))).valid


def test_a_text_without_the_name_is_told_apart_without_a_run():
    found = judged("x = 1")
    assert found.public == (Outcome(False, Status.MISSING, "there is no function f"),) * 2
    assert found == judged("while True: pass")
    assert judged("f2 = _f = 3") == found


def test_what_is_kept_of_an_answer_is_short():
    long = judged("def f(x): return 'a' * 99_999").public[0].said
    assert long == "a" * LONGEST + "..."
    whole = judged(f"def f(x): return 'a' * {LONGEST}").public[0].said
    assert whole == "a" * LONGEST
    assert len(judged("def f(x): raise ValueError('a' * 99_999)").public[0].said) < LONGEST


def test_equal_answers_have_one_digest_and_others_another():
    alike = [
        "def f(x): return x + x",
        "f = lambda x: x * 2",
        "# twice\ndef f(y):\n    return 2 * y",
    ]
    assert len({judged(text) for text in alike}) == 1
    others = [
        *(alike[0], WRONG["double"], SHOWN["double"], "def f(x): return None"),
        *("def f(x): return str(2 * x)", "def f(x): return float(2 * x)"),
        *("def f(x): return [2 * x]", "def f(x): return {x}", "def f(x): return 1 / 0"),
        *("def f(x): raise KeyError", "def f(x): raise KeyError(x)", "def f(x:", "x"),
        "def f(x): return 2 * x if x != 50 else 99",
        "def f(x): return 2 * x if x != 50 else 98",
    ]
    assert len({judged(text).digest for text in others}) == len(others)


def test_the_order_of_a_dict_is_no_answer():
    one, two = "def f(x): return {'a': x, 'b': 1}", "def f(x): return {'b': 1, 'a': x}"
    assert judged(one) == judged(two)
    words = "def f(x): return {'a', 'b', 'c', 'd', str(x)}"
    assert judged(words) == judged(words)


@pytest.mark.parametrize(
    "value", ["(y for y in [x])", "map(str, [x])", "object()", "[lambda: x]", "str(object())"]
)
def test_where_an_object_lies_is_no_answer(value):
    # A replay in another process meets other addresses, here in another zygote.
    text = f"def f(x): return {value}"
    found = judged(text)
    moved = ASKED._replace(settings=ASKED.settings._replace(workers=2))
    assert "0x..." in found.public[0].said
    for _ in range(2):
        assert judged(text, moved) == found
    assert judged(f"pad = [object() for _ in range(9999)]\n{text}") == found


@pytest.mark.parametrize("value", ["map(str, [1])", "object()", "[lambda: 1]"])
def test_where_an_object_lies_is_no_output_of_a_script(value):
    moved = LINES._replace(settings=LINES.settings._replace(workers=2))
    assert judged(f"print({value})", moved) == judged(f"print({value})", LINES)


def test_a_number_that_looks_like_an_address_is_an_answer():
    found = judged("def f(x): return hex(x + (1 << 40))")
    assert [outcome.said for outcome in found.public] == ["0x10000000001", "0x10000000002"]
    assert judged("def f(x): return hex(x + (1 << 41))").digest != found.digest
    posed = exercise(task(replace(DOUBLE, private=(Case([1 << 40], hex(1 << 40)),))))
    assert judged("def f(x): return hex(x)", posed).private == 1


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(CATALOGUE))
def test_programs_of_the_catalogue_answer_what_is_computed_without_them(text):
    code = list_programs.catalogue()[text]
    found = judged(text, exercise(task(POSED)))
    if code.kind != "integer":
        assert found.hidden - found.private == list_programs.fails(text, POSED.private)
        assert len(found.public) - found.shown == list_programs.fails(text, POSED.public)
    else:
        assert not found.solved


@pytest.mark.parametrize("value", [0, 1.5, None, True, [1, "a"], {"a": [None]}, "a\nb", ""])
def test_values_are_spelled_as_they_are_read(value):
    assert spell(value) == (value if isinstance(value, str) else json.dumps(value))


def test_a_dict_is_spelled_in_one_order():
    assert spell({"b": [{"d": 1, "c": 2}], "a": 0}) == '{"a": 0, "b": [{"c": 2, "d": 1}]}'


@pytest.mark.parametrize(
    "end",
    ["raise ValueError", "raise SystemExit(1)", "import os, sys; sys.stdout.flush(); os._exit(1)"],
)
def test_a_script_that_fails_after_the_right_output_has_failed(end):
    found = judged(f"{RIGHT['script']}\n{end}", LINES)
    assert (found.shown, found.private, found.solved) == (0, 0, False)


@pytest.mark.parametrize("text", ["def f(x): return 1 / 0", "def f(x:", "x", "def f(x): exit()"])
def test_no_answer_is_not_the_answer_nothing(text):
    nothing = replace(DOUBLE, public=(Case([1], None),), private=(Case([2], None),))
    found = judged(text, exercise(task(nothing)))
    assert (found.shown, found.private, found.solved) == (0, 0, False)
    assert judged("def f(x): return None", exercise(task(nothing))).solved
