import json
import re
from collections import Counter

import numpy as np
import pytest

from tests.environments.deepcoder.functions import CODES, fresh, function
from turnscope.environments.deepcoder import list_programs
from turnscope.environments.deepcoder.list_programs import (
    HIGH,
    KINDS,
    LOW,
    MOST,
    Code,
    catalogue,
    describe,
    mistakes,
    near,
    render,
    run,
    split_of,
)


@pytest.mark.parametrize(
    ("code", "text", "words", "x", "answer"),
    [
        (
            Code("list", "+", 3, ">", 4),
            "def f(x): return [ a + 3 for a in x if a > 4 ]",
            "numbers above C plus K",
            [5, 4, 7],
            [8, 10],
        ),
        (
            Code("sorted", "*", 2, "odd", 0),
            "def f(x): return sorted( [ a * 2 for a in x if a % 2 == 1 ] )",
            "sorted odd numbers times K",
            [5, 4, 1],
            [2, 10],
        ),
        (
            Code("sum", "", 0, "<", 3),
            "def f(x): return sum( [ a for a in x if a < 3 ] )",
            "sum of numbers below C",
            [1, 2, 3],
            3,
        ),
        (
            Code("sum", "-", 1, "even", 0),
            "def f(x): return sum( [ a - 1 for a in x if a % 2 == 0 ] )",
            "sum of even numbers minus K",
            [4, 3, 2],
            4,
        ),
        (
            Code("list", "-", 6, "", 0),
            "def f(x): return [ a - 6 for a in x ]",
            "numbers minus K",
            [1],
            [-5],
        ),
        (
            Code("integer", "*", 3, "-", 2),
            "def f(x): return ( x * 3 - 2 )",
            "number times K minus C",
            5,
            13,
        ),
        (Code("integer", "+", 4, "", 0), "def f(x): return ( x + 4 )", "number plus K", 5, 9),
    ],
)
def test_functions_by_hand(code, text, words, x, answer):
    assert render(code) == text
    assert describe(code) == words
    assert run(code, x) == answer
    assert text in catalogue()


def test_every_function_does_what_is_computed_without_its_text():
    lists, numbers = list_programs.arguments()
    for text, code in catalogue().items():
        found = function(text)
        inputs = numbers if code.kind == "integer" else lists
        for x in [*inputs, *fresh(code, 1, 20)]:
            assert found(x) == run(code, x), text


def test_a_function_changes_nothing_of_what_it_is_given():
    for code in CODES[::20]:
        for x in fresh(code, 2, 5):
            before = json.dumps(x)
            run(code, x)
            assert json.dumps(x) == before


def test_no_two_functions_have_one_meaning_on_inputs_that_tests_may_have():
    random = np.random.default_rng(3)
    lists = [[a] for a in range(LOW, HIGH + 1)]
    lists += [random.integers(LOW, HIGH + 1, size=9).tolist() for _ in range(40)]
    lists += [list(range(HIGH, LOW - 1, -1)), []]
    numbers = [*range(LOW, MOST + 1)]
    seen = Counter()
    for code in CODES:
        single = code.kind == "integer"
        seen[single, json.dumps([run(code, x) for x in (numbers if single else lists)])] += 1
    assert max(seen.values()) == 1
    assert len(seen) == len(CODES) > 500


def test_every_way_to_write_a_function_has_its_meaning_in_the_catalogue():
    lists, numbers = list_programs.arguments()
    told = {
        (code.kind == "integer", json.dumps([run(code, x) for x in inputs]))
        for code in CODES
        for inputs in [numbers if code.kind == "integer" else lists]
    }
    written = list(list_programs._all())
    assert len({render(code) for code in written}) == len(written) > len(CODES)
    for code in written:
        inputs = numbers if code.kind == "integer" else lists
        assert (code.kind == "integer", json.dumps([run(code, x) for x in inputs])) in told


def test_symbols_stand_apart():
    tokens = {word for text in catalogue() for word in text.split(" ")}
    assert all(re.fullmatch(r"def|f\(x\):|\w+|\w+\(|[-+*%<>=()\[\]]+", one) for one in tokens)
    assert len(tokens) < 60
    assert not any("  " in text for text in catalogue())


def test_a_description_tells_no_constant():
    for code in CODES:
        assert not re.search(r"\d", describe(code))
        for number in list_programs.CONSTANTS:
            if code.operator:
                other = code._replace(number=number)
                assert describe(other) == describe(code)
    assert {describe(code).split()[0] for code in CODES} == {
        *("numbers", "even", "odd", "sorted", "sum", "number")
    }


def test_functions_of_one_description_differ_in_constants_alone():
    for code in CODES[::9]:
        for other in CODES:
            if describe(other) == describe(code):
                assert (other.kind, other.operator, other.check) == (
                    code.kind,
                    code.operator,
                    code.check,
                )


def test_mistakes_differ_in_one_part_by_little():
    code = Code("list", "+", 3, ">", 4)
    texts = mistakes(code)
    assert "def f(x): return [ a + 4 for a in x if a > 4 ]" in texts
    assert "def f(x): return [ a + 3 for a in x if a > 1 ]" in texts
    assert "def f(x): return [ a - 3 for a in x if a > 4 ]" in texts
    assert "def f(x): return sum( [ a + 3 for a in x if a > 4 ] )" in texts
    assert "def f(x): return [ a + 4 for a in x if a > 5 ]" not in texts
    assert "def f(x): return [ a + 6 for a in x if a > 4 ]" in texts
    far = mistakes(code._replace(number=1))
    assert "def f(x): return [ a + 4 for a in x if a > 4 ]" in far
    assert "def f(x): return [ a + 5 for a in x if a > 4 ]" not in far
    assert render(code) not in texts
    assert all(len(mistakes(one)) >= 10 for one in CODES[::7])


def test_near_functions_are_the_mistakes_of_the_same_split():
    for code in CODES[::7]:
        ours = [text for text in mistakes(code) if split_of(catalogue()[text]) == split_of(code)]
        assert [*near(code)] == ours
    assert any(len(near(code)) < len(mistakes(code)) for code in CODES[::7])


def test_to_be_near_is_mutual():
    for code in CODES[::90]:
        for text in near(code):
            assert render(code) in near(catalogue()[text])
        for text in mistakes(code):
            assert render(code) in mistakes(catalogue()[text])


def test_words_are_the_functions_of_one_part():
    words = list_programs.words()
    assert len(words) == len(set(words))
    for text in words:
        code = catalogue()[text]
        assert not (code.operator and code.check)
    assert {catalogue()[text].kind for text in words} == set(KINDS)
