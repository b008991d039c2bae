import pytest

from tests.environments.bfcl.by_hand import GOLD, PAYLOAD, begin, key, task
from turnscope.environments import bfcl
from turnscope.environments.bfcl import calls, trajectory
from turnscope.types import Quality, Turn

pytestmark = pytest.mark.usefixtures("package")
ATTRIBUTES = 2
"""Public attributes of the file system: its root and its long_context."""


def quality(action: str, *before: str, **changes: object) -> float:
    of = task(**changes)
    found = bfcl.step_quality(of, key(*before, of=of), action, 1)
    assert found.best == 1
    return found.value


def errors(action: str, *before: str, **changes: object) -> list[str]:
    of = task(**changes)
    environment = begin(*before, of=of)
    state_key = environment.state_key()
    step = environment.step(action)
    turn = Turn("", state_key, action, step.reward, step.valid)
    return bfcl.errors(of, turn, environment.state_key(), 1)


def test_public_attributes_are_counted():
    state = begin().stand.state
    assert trajectory.simulator().agreement(PAYLOAD, state, 0) == 1 - 1 / ATTRIBUTES


@pytest.mark.parametrize(
    ("before", "action", "expected"),
    [
        ([], "mkdir docs ; ls", 1.0),
        ([], "mkdir docs", (1 + 1 / 2) / 2),
        ([], "ls", (1 / 2 + 0) / 2),
        # The current folder is a private attribute: its output differs, the state does not.
        ([], "mkdir docs ; cd docs ; ls", (1 + 1 / 2) / 2),
        ([], "done", (1 / 2 + 0) / 2),
        ([], "oops", 0.0),
        (["mkdir docs"], "ls", 1.0),
        (["mkdir docs"], "done", (1 + 1 / 2) / 2),
        (["mkdir docs"], "touch b", (1 / 2 + 1 / 2) / 2),
        (GOLD[:1], "done", 1.0),
        (GOLD[:1], "pwd", 1.0),
        (GOLD[:1], "oops", 0.0),
        (GOLD[:2], "done", 1.0),
        (GOLD[:2], "touch b", (1 / 2 + 1) / 2),
        (GOLD[:3], "done", 1 / 2),
        (GOLD[:3], "cat a.txt", 1.0),
        # The text was seen before, but the checker wants a call in this request.
        ([*GOLD[:2], "cat a.txt", "done"], "done", 1 / 2),
        ([*GOLD[:2], "cat a.txt", "done"], "pwd", 1.0),
        # What went wrong before is graded no more.
        (["done", "done"], "mkdir docs ; cat a.txt", 1.0),
        (["done", "done"], "cat a.txt", (1 / 2 + 1) / 2),
    ],
)
def test_qualities_by_hand(before, action, expected):
    assert quality(action, *before) == pytest.approx(expected)


def test_the_quality_of_what_cannot_be_read_is_that_of_what_it_does():
    closes = {"format": "qwen3", "undecodable": "closes"}
    bad = "<tool_call>\nls()\n</tool_call>"
    ls = '<tool_call>\n{"name": "ls", "arguments": {}}\n</tool_call>'
    assert quality(bad, format="qwen3") == 0
    assert quality(bad, **closes) == quality("done", **closes) == 1 / 4
    made = '<tool_call>\n{"name": "mkdir", "arguments": {"dir_name": "docs"}}\n</tool_call>'
    assert quality(ls + bad, made, **closes) == 1
    assert errors(bad, **closes) == ["wasted", "early"]


@pytest.mark.parametrize(
    ("before", "action", "expected"),
    [
        ([], "oops", ["wasted"]),
        ([], "done", ["early"]),
        ([], "pwd", ["idle"]),
        ([], "mkdir docs", []),
        ([], "cat no", ["idle"]),
        ([], "cat a.txt", []),
        (["cat a.txt"], "cat a.txt", ["idle"]),
        (["mkdir docs"], "touch b", ["harm"]),
        (["mkdir docs"], "done", ["early"]),
        (["mkdir docs"], "ls", []),
        (GOLD[:1], "done", []),
        (GOLD[:1], "ls", ["idle"]),
        (GOLD[:2], "done", []),
        (GOLD[:2], "mkdir b", ["harm"]),
        (GOLD[:3], "cd docs", []),
        (GOLD[:4], "done", []),
    ],
)
def test_errors_by_hand(before, action, expected):
    assert errors(action, *before) == expected


def test_grades_need_the_key_alone():
    """A state is rebuilt from its key, whatever was played in this process before."""
    before = ["pwd", "touch b", "pwd ; cat a.txt", "done", "mkdir c"]
    environment = begin(*before)
    rebuilt = trajectory.rebuild(environment.asked, trajectory.parse(environment.state_key()))
    assert rebuilt.state.digest == environment.stand.state.digest
    assert rebuilt.place == environment.stand.place
    for action in ("ls", "done", "cat a.txt", "mkdir docs"):
        fresh = task(config=dict(reversed(PAYLOAD["config"].items())))
        found = bfcl.step_quality(fresh, environment.state_key(), action, 3)
        ahead = begin(*before, action) if action != "done" else environment
        assert found == Quality(trajectory.done(environment.asked, ahead.stand), 1.0)


def test_mistakes_leave_the_request_undone_and_are_none_when_the_episode_is_over():
    for form in calls.FORMATS:
        of = task(format=form)
        actions = bfcl.gold(of, 0)
        for turn in range(5):
            state_key = key(*actions[:turn], of=of)
            for text in bfcl.mistakes(of, state_key, 9):
                assert bfcl.step_quality(of, state_key, text, 9).value < 1
            assert actions[turn] not in bfcl.mistakes(of, state_key, 9)
        assert bfcl.mistakes(of, key(*actions, of=of), 9) == []
    assert bfcl.mistakes(task(), key(), 9) == ["done", "ls", "mkdir docs", "cat a.txt"]
    assert bfcl.mistakes(task(), key(*GOLD[:3]), 9) == ["done", "mkdir docs ; ls"]


def test_mistakes_of_small_requests_are_worse_than_the_expert_in_every_state():
    found = 0
    for one in bfcl.tasks(7, train=9, test=6):
        actions = bfcl.gold(one, 0)
        for turn in range(len(actions)):
            state_key = key(*actions[:turn], of=one)
            mistakes = bfcl.mistakes(one, state_key, 9)
            assert actions[turn] not in mistakes
            assert len(set(mistakes)) == len(mistakes)
            found += len(mistakes)
    assert found > 100


def test_mistakes_and_experts_speak_the_format_of_the_task():
    plain = bfcl.tasks(7, train=9, test=0)
    for form in ("qwen3", "python"):
        for one, other in zip(plain, bfcl.tasks(7, train=9, test=0, format=form), strict=True):
            found = [bfcl.mistakes(some, key(of=some), 9) for some in (one, other)]
            read = [
                [begin(of=some).asked.heard(text).calls for text in texts]
                for some, texts in zip((one, other), found, strict=True)
            ]
            assert None not in read[0]
            assert read[0] == read[1]
            said = [bfcl.expert(begin(of=some), 4, 0, 1.0, 9) for some in (one, other)]
            assert said[0] != said[1]
            heard = [
                begin(of=some).asked.heard(text).calls
                for some, text in zip((one, other), said, strict=True)
            ]
            assert heard[0] == heard[1]


def test_bound_is_one_from_the_fewest_turns_on():
    assert bfcl.bound(task(), 7) == [0.0] * 4 + [1.0] * 3


def test_facts_say_how_calls_are_isolated():
    begin("ls")
    assert bfcl.facts()["sandbox"]


def test_agreements_that_are_kept_are_bounded(monkeypatch):
    monkeypatch.setattr(trajectory, "REMEMBERED", 2)
    asked = begin().asked
    asked.agreements.clear()
    found = [trajectory.agreement(asked, begin(f"touch {name}").stand) for name in "bcdb"]
    assert found == [1 / 2] * 4
    assert 0 < len(asked.agreements) <= 2
