import pytest

from tests.environments.deepcoder.by_hand import DOUBLE, RIGHT, SCRIPT, play, steps
from tests.environments.deepcoder.hostile import HOSTILE
from turnscope.types import Step

SOLVED = Step("all tests pass", 1.0, True, True)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_bad_program_is_a_turn_with_a_reply_and_the_next_is_judged_as_ever(name):
    text, status, said = HOSTILE[name]
    (bad, key), (right, _) = play(DOUBLE, text, RIGHT["double"])
    assert not bad.terminated
    if status in ("syntax", "missing"):
        assert bad.observation == status
    elif status != "ok":
        assert bad.observation == f"1 = 2 not {status} ; 2 = 4 not {status}"
    else:
        assert bad.observation.startswith(f"1 = 2 not {said}")
    assert bad.observation.isprintable()
    assert len(bad.observation) <= 2 * 350
    assert len(key) < 60
    assert key.split()[0] == ("failed" if status == "ok" else status)
    assert right == SOLVED
    assert steps(SCRIPT, RIGHT["script"]) == [SOLVED]


@pytest.mark.parametrize("name", HOSTILE)
def test_the_full_view_says_why_a_bad_program_stopped(name):
    text, status, said = HOSTILE[name]
    told = steps(DOUBLE, text, view="full")[0].observation
    if status in ("syntax", "missing"):
        assert told.startswith(f"no program runs: {said}")
    else:
        got = "Got" if status == "ok" else f"Stopped ({status})"
        assert told.startswith("0 of 2 public tests pass.\n\nPublic test 1 fails\n")
        assert told.count(f"\n{got}: {said}") == 2
    assert told.replace("\n", "").isprintable()
    assert len(told) <= 2 * 450


BAD_SCRIPTS = {
    "print(": ("syntax", "SyntaxError: '(' was never closed"),
    "print('\0')": ("syntax", "SyntaxError: source code string cannot contain null bytes"),
    "print('\ud800')": ("syntax", "UnicodeEncodeError: "),
    "while True: pass": ("timeout", "took more than 0.3 s of processor time"),
    "import os; os._exit(0)": ("ok", ""),
    "import os; os._exit(2)": ("killed", "left with exit code 2"),
    "raise SystemExit(2)": ("error", "SystemExit: 2"),
    "while True: print('x' * 9999)": ("output", "wrote more than 1048576 bytes"),
    "input(); input(); input()": ("error", "EOFError: EOF when reading a line"),
    "import sys; sys.stdout.buffer.write(b'\\xff\\xfe')": ("ok", "\ufffd\ufffd"),
    "import sys; sys.stdout.close()": ("ok", ""),
}


@pytest.mark.parametrize("text", BAD_SCRIPTS)
def test_a_bad_script_is_a_turn_with_a_reply_and_the_next_is_judged_as_ever(text):
    status, said = BAD_SCRIPTS[text]
    bad, right = steps(SCRIPT, text, RIGHT["script"])
    assert not bad.terminated
    if status == "syntax":
        assert bad.observation == status
    else:
        told = status if status != "ok" else said or "none"
        assert bad.observation == f"1\n2\n = 2\n4\n not {told}"
    bad.observation.encode()
    assert right == SOLVED
    (full,) = steps(SCRIPT, text, view="full")
    got = {"syntax": "no program runs: ", "ok": "Got: "}.get(status, f"Stopped ({status}): ")
    assert f"{got}{said}" in full.observation
    full.observation.encode()
