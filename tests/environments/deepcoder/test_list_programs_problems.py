import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.environments.deepcoder.functions import CODES, fresh, function
from turnscope.environments.deepcoder import list_programs
from turnscope.environments.deepcoder.list_programs import (
    KINDS,
    LENGTH,
    LOW,
    MOST,
    PRIVATE,
    PUBLIC,
    catalogue,
    describe,
    fails,
    mistakes,
    near,
    private,
    problems,
    render,
    split_of,
)
from turnscope.environments.deepcoder.problems import payload, problem_of


@pytest.mark.parametrize("code", CODES[::11], ids=render)
def test_hidden_tests_are_right_and_every_mistake_of_either_split_fails_one(code):
    hidden, solve = private(code), function(render(code))
    assert len(hidden) == PRIVATE
    assert len({json.dumps(case.input) for case in hidden}) == PRIVATE
    assert all(solve(*case.input) == case.output for case in hidden)
    assert fails(render(code), hidden) == 0
    assert mistakes(code) == list_programs._rivals(code), "no function differs in a part unseen"
    assert set(near(code)) <= set(mistakes(code))
    for text in mistakes(code):
        assert text != render(code)
        assert wrong(text, hidden) > 0
        if (catalogue()[text].kind == "integer") == (code.kind == "integer"):
            assert wrong(text, hidden) == fails(text, hidden)


def test_each_hidden_test_catches_mistakes_that_those_before_it_let_pass():
    for code in CODES[::11]:
        left = list(mistakes(code))
        for case in private(code):
            if not left:
                break
            caught = [text for text in left if fails(text, [case])]
            assert caught
            left = [text for text in left if text not in caught]


def wrong(text: str, cases) -> int:
    """Count failed tests by running the text."""
    count = 0
    for case in cases:
        try:
            count += function(text)(*case.input) != case.output
        except TypeError:
            count += 1
    return count


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**64 - 1), st.sampled_from(["train", "test"]), st.integers(0, 8))
def test_problems_are_a_function_of_the_seed_and_the_first_do_not_depend_on_how_many(
    seed, split, number
):
    found = list(problems(seed, split, 8))
    assert list(problems(seed, split, number)) == found[:number]
    assert list(problems(seed + 1, split, 8)) != found


def test_problems_are_what_they_say():
    for split in ("train", "test"):
        found = list(problems(5, split, 80))
        assert [one.name for one in found] == [f"{split}-{place:05d}" for place in range(80)]
        assert [one.stratum for one in found[:8]] == [*KINDS, *KINDS]
        for one in found:
            code = catalogue()[str(one.solution)]
            solve = function(str(one.solution))
            assert one.statement == describe(code)
            assert (one.entry, one.starter, one.split) == ("f", "", split)
            assert one.stratum == code.kind
            assert (len(one.public), len(one.private)) == (PUBLIC, PRIVATE)
            assert all(solve(*case.input) == case.output for case in one.public + one.private)
            inputs = [json.dumps(case.input) for case in one.public + one.private]
            assert len(set(inputs)) == len(inputs), "public and hidden tests are disjoint"
            assert problem_of(json.loads(json.dumps(payload(one)))) == one
            if code.kind != "integer":
                assert all(len(case.input[0]) == LENGTH for case in one.public)
            else:
                numbers = [case.input[0] for case in one.public + one.private]
                assert all(LOW <= number <= MOST for number in numbers)


def test_train_and_test_share_no_function_on_any_inputs():
    told: dict[str, set[tuple[bool, str]]] = {"train": set(), "test": set()}
    for text, code in catalogue().items():
        answers = [function(text)(x) for x in fresh(code, 7, 60)]
        told[split_of(code)].add((code.kind == "integer", json.dumps(answers)))
    assert not told["train"] & told["test"]
    assert min(map(len, told.values())) > 200


def test_the_split_of_a_function_is_the_same_for_every_seed():
    parts = {
        (seed, split): {str(one.solution) for one in problems(seed, split, 200)}
        for seed in (1, 2)
        for split in ("train", "test")
    }
    for (_, split), texts in parts.items():
        assert {split_of(catalogue()[text]) for text in texts} == {split}
    assert not parts[1, "train"] & parts[2, "test"]
    assert not parts[2, "train"] & parts[1, "test"]


def test_test_has_its_share_of_functions_and_some_of_each_form():
    held = [code for code in CODES if split_of(code) == "test"]
    assert {split_of(code) for code in CODES} == {"train", "test"}
    noise = (list_programs.HELD_OUT * (1 - list_programs.HELD_OUT) * len(CODES)) ** 0.5
    assert len(held) == pytest.approx(list_programs.HELD_OUT * len(CODES), abs=4.5 * noise)
    for part in ("train", "test"):
        forms = {
            (code.kind, bool(code.operator and code.check))
            for code in CODES
            if split_of(code) == part
        }
        assert len(forms) == 2 * len(KINDS)


@pytest.mark.parametrize("split", ["train", "test"])
def test_no_problem_comes_twice(split):
    found = list(problems(3, split, 1200))
    shown = {
        f"{one.solution} {sorted(json.dumps(case.input) for case in one.public)}" for one in found
    }
    assert len(shown) == len(found)


@pytest.mark.parametrize("split", ["train", "test"])
def test_functions_of_one_form_are_used_about_as_often(split):
    uses = Counter(catalogue()[str(one.solution)] for one in problems(8, split, 400))
    forms: dict[tuple[str, bool], list[int]] = {}
    for code in CODES:
        if split_of(code) == split:
            form = code.kind, bool(code.operator and code.check)
            forms.setdefault(form, []).append(uses[code])
    assert all(max(counts) - min(counts) <= 1 for counts in forms.values())
    assert any(min(counts) > 1 for counts in forms.values())


def test_to_ask_for_more_problems_than_there_are_is_refused_in_one_line(monkeypatch):
    monkeypatch.setattr(list_programs, "ATTEMPTS", 1)
    with pytest.raises(ValueError, match=r"^found no new problem of 'def f\(x\): ") as refusal:
        list(problems(1, "test", 2000))
    assert str(refusal.value).endswith("; ask for fewer tasks")
    assert "\n" not in str(refusal.value)


def test_as_many_problems_have_one_part_as_promised():
    found = [catalogue()[str(one.solution)] for one in problems(2, "train", 800)]
    simple = sum(not (code.operator and code.check) for code in found) / len(found)
    noise = (list_programs.SIMPLE * (1 - list_programs.SIMPLE) / len(found)) ** 0.5
    assert simple == pytest.approx(list_programs.SIMPLE, abs=4.5 * noise)


def test_public_tests_leave_something_to_get_wrong():
    # Else public tests would decide alone, and hidden ones nothing.
    fooled = 0
    for one in problems(6, "train", 60):
        code = catalogue()[str(one.solution)]
        fooled += any(not fails(text, one.public) for text in near(code))
    assert fooled >= 5
