import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.environments.deepcoder.by_hand import DOUBLE, SCRIPT, WRONG, steps, task
from tests.environments.deepcoder.hostile import HOSTILE, SPIES
from turnscope.environments.deepcoder import Environment
from turnscope.environments.deepcoder.problems import Case, Problem

CANARY = st.integers(10**11, 10**12)


@pytest.mark.parametrize("text", SPIES)
@settings(max_examples=6, deadline=None)
@given(CANARY, st.sampled_from(["terse", "full"]), st.sampled_from(["public", "all", "submit"]))
def test_no_byte_of_a_hidden_test_is_ever_told(text, canary, view, ends):
    hidden = (Case([canary], canary + 7), Case([-canary], [canary, "word"]))
    secret = Problem("secret", "Double.", "f", "", DOUBLE.public, hidden, f"# {canary}", "numbers")
    environment = Environment(view=view, ends=ends, failures=99, cut=10**6)
    told = [environment.reset(task(secret), 0)]
    for action in (text, text + "\n", "submit"):
        step = environment.step(action)
        told.append(step.observation)
        if step.terminated:
            break
    for mark in (str(canary), str(canary + 7), hex(canary), "word"):
        assert not any(mark in line for line in told)


@pytest.mark.parametrize(
    "text",
    [
        "print(input())",
        "raise ValueError(input())",
        "import sys; sys.exit(sys.stdin.read())",
        "import sys; sys.stderr.write(sys.stdin.read()); print(2)",
        "print('2\\n4') if input() == '1' else print(input())",
    ],
)
@pytest.mark.parametrize("view", ["terse", "full"])
def test_no_byte_of_a_hidden_input_of_a_script_is_told(text, view):
    hidden = (Case("canary-in\n", "canary-out\n"), Case("more canary\n", "2\n4\n"))
    secret = Problem("secret", "Double.", None, "", SCRIPT.public, hidden, None, "scripts")
    environment = Environment(view=view, ends="all", failures=99, cut=10**6)
    told = environment.reset(task(secret), 0)
    for action in (text, text + "\n", "submit"):
        told += environment.step(action).observation
    assert "canary" not in told


def test_what_is_told_does_not_depend_on_hidden_tests():
    other = Problem(
        **{name: getattr(DOUBLE, name) for name in DOUBLE.__slots__ if name != "private"},
        private=(Case([9], 0), Case([8], 1)),
    )
    quick = [text for text, status, _ in HOSTILE.values() if status != "timeout"]
    for text in [*quick, *SPIES, WRONG["double"]]:
        told = [steps(one, text, view="full", ends="submit") for one in (DOUBLE, other)]
        assert told[0] == told[1]
