"""Environments that raise, hang or answer rubbish: their episodes are data, and others go on."""

import asyncio
import math
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.matched.played import hall_pair, state
from tests.toys import Hall, Speaker, hall
from turnscope import game, guard, sampling, tables
from turnscope.algorithms import grpo
from turnscope.matched import play as matched
from turnscope.practice import Recipe, Study, play
from turnscope.progress import Exam, examine
from turnscope.rollout import Start, rollout
from turnscope.types import Budget, Episode, Step, StopReason, Task

BUDGET = Budget(6, 4)
GOOD = Step("at=1", 0.0, False)


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def raiser(failure: BaseException) -> Callable[..., Any]:
    def raises(*_: Any) -> Any:
        raise failure

    return raises


def deep(*_: Any) -> Any:
    return deep()


def spin(*_: Any) -> Any:
    while True:
        pass


def sleep(*_: Any) -> Any:
    time.sleep(3600)


def stubborn(*_: Any) -> Any:
    while True:
        try:
            time.sleep(3600)
        except Exception:  # noqa: BLE001 - as an environment may
            continue


def thrice(*_: Any) -> Any:
    for _attempt in range(3):
        try:
            time.sleep(3600)
        except BaseException:  # noqa: BLE001 - as an environment should not
            continue
    raise RuntimeError("at last")


def backtrack(*_: Any) -> Any:
    return re.match(r"(a+)+$", "a" * 40 + "b")


RAISES: dict[str, tuple[Callable[..., Any], str]] = {
    "error": (raiser(OSError("the door\nis locked")), "OSError: the door is locked"),
    "exit": (raiser(SystemExit(0)), "SystemExit: 0"),
    "memory": (raiser(MemoryError()), "MemoryError:"),
    "recursion": (deep, "RecursionError: maximum recursion depth exceeded"),
    "cancelled": (raiser(asyncio.CancelledError()), "CancelledError:"),
    "base": (raiser(BaseException("odd")), "BaseException: odd"),
    "unspeakable": (raiser(Unspeakable()), "Unspeakable: ?"),
    "surrogate": (raiser(ValueError("a\ud800b")), "ValueError: a?b"),
    "long": (raiser(ValueError("x" * 10**6)), "ValueError: xxx"),
}
HANGS: dict[str, tuple[Callable[..., Any], str]] = {
    "spins": (spin, "Hang: no answer for 2 s"),
    "sleeps": (sleep, "Hang: no answer for 2 s"),
    "catches errors": (stubborn, "Hang: no answer for 2 s"),
    "catches everything": (thrice, "RuntimeError: at last"),
    "matches": (backtrack, "Hang: no answer for 2 s"),
}
TEXTS: dict[str, tuple[Any, str]] = {
    "none": (None, "TypeError: {} is NoneType None; legal is a text"),
    "bytes": (b"at=1", "TypeError: {} is bytes b'at=1'; legal is a text"),
    "number": (3, "TypeError: {} is int 3; legal is a text"),
    "long": ("x" * (game.MOST + 1), "ValueError: {} has 1000001 characters; legal are 1000000"),
    "surrogate": ("a\ud800", "UnicodeEncodeError: 'utf-8' codec can't encode"),
}
STEPS: dict[str, tuple[Any, str]] = {
    "none": (None, "TypeError: the answer is NoneType None; legal is a Step"),
    "tuple": (("at=1", 0.0, False), "TypeError: the answer is tuple ('at=1', 0.0, False); legal"),
    "text": ("at=1", "TypeError: the answer is str 'at=1'; legal is a Step"),
    "nan": (GOOD._replace(reward=math.nan), "ValueError: reward is nan; legal is up to 1e+06"),
    "infinite": (GOOD._replace(reward=-math.inf), "ValueError: reward is -inf; legal"),
    "huge": (GOOD._replace(reward=1e9), "ValueError: reward is 1000000000.0; legal is up to"),
    "no number": (GOOD._replace(reward="1"), "TypeError: reward is str '1'; legal is a number"),
    "no reward": (GOOD._replace(reward=None), "TypeError: reward is NoneType None; legal"),
    "array": (GOOD._replace(reward=np.zeros(2)), "TypeError: reward is ndarray"),
    "flag": (GOOD._replace(terminated=None), "TypeError: flags are tuple (None, False, True)"),
    "valid": (GOOD._replace(valid="yes"), "TypeError: flags are tuple (False, False, 'yes')"),
    "success": (GOOD._replace(success=True), "ValueError: success was declared without an end"),
    **{
        f"observation {name}": (GOOD._replace(observation=value), line.format("observation"))
        for name, (value, line) in TEXTS.items()
    },
}


class Wreck(Hall):
    """A hall in which what `fault` names goes wrong as soon as somebody has moved."""

    fault: tuple[str, Callable[..., Any]]

    def reset(self, task: Task, seed: int) -> str:
        said = super().reset(task, seed)
        return self.gone("reset", said)

    def step(self, action: str) -> Step:
        step = super().step(action)
        return self.gone("step", step)

    def state_key(self) -> str:
        key = super().state_key()
        return key if self.turn == 0 and self.fault[0] == "key" else self.gone("key", key)

    def reseed(self, seed: int) -> None:
        self.gone("reseed", None)

    def close(self) -> None:
        super().close()
        self.gone("close", None)

    def gone(self, where: str, usual: Any) -> Any:
        if self.payload.get("wrecked") and self.fault[0] == where:
            return self.fault[1](usual)
        return usual


def wreck(where: str, what: Callable[..., Any]) -> type[Wreck]:
    return type("Wreck", (Wreck,), {"fault": (where, what)})


def answer(value: Any) -> Callable[..., Any]:
    return lambda *_: value


def tasks(wrecked: bool = True) -> list[Task]:
    """Three halls, of which the second is wrecked."""
    bad = {"wrecked": True} if wrecked else {}
    return [hall(4, "one"), hall(4, "bad", **bad), hall(3, "two")]


def starts(wrecked: bool = True) -> list[Start]:
    return [Start(task, 0, seed, BUDGET) for seed, task in enumerate(tasks(wrecked))]


def ended(world: Any, turns: int) -> Episode:
    """Play all three; check that the others are as ever, and return the wrecked one."""
    usual = rollout(Hall, starts(False), Speaker(0.7))
    found = rollout(world, starts(), Speaker(0.7))
    assert [found[0], found[2]] == [usual[0], usual[2]]
    episode = found[1]
    assert (episode.stop, episode.success) == (StopReason.ERROR, None)
    assert (episode.final_observation, episode.final_state_key) == ("", "")
    assert episode.turns == usual[1].turns[:turns]
    assert episode.error is not None
    assert "\n" not in episode.error
    assert len(episode.error) <= 500
    episode.error.encode()
    return episode


@pytest.mark.parametrize("name", RAISES)
@pytest.mark.parametrize(
    ("where", "when"), [("reset", ""), ("step", " at the action"), ("key", "")]
)
def test_whatever_is_raised_ends_one_episode(where, when, name):
    what, line = RAISES[name]
    error = ended(wreck(where, what), 0).error or ""
    assert error.startswith(line)
    assert name == "long" or when in error


def test_an_environment_that_cannot_be_made_ends_one_episode():
    made = iter([Hall, raiser(SystemExit(1)), Hall])
    found = rollout(lambda: next(made)(), starts(), Speaker(0.7))
    assert [episode.error for episode in found] == [None, "SystemExit: 1", None]


@pytest.mark.parametrize("name", STEPS)
def test_a_step_that_is_none_ends_one_episode(name):
    value, line = STEPS[name]
    assert (ended(wreck("step", answer(value)), 0).error or "").startswith(line)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize(("where", "what"), [("reset", "observation"), ("key", "state key")])
def test_a_text_that_is_none_ends_one_episode(where, what, name):
    value, line = TEXTS[name]
    error = ended(wreck(where, answer(value)), 0).error or ""
    assert error.startswith(line.format(what))


def test_numbers_and_flags_of_numpy_are_taken_as_ours():
    step = Step("at=1", np.float32(0.5), np.bool_(False), np.bool_(False), np.bool_(True))  # type: ignore[arg-type]
    found = rollout(wreck("step", answer(step)), starts(), Speaker(0.7))
    assert {type(turn.reward) for turn in found[1].turns} == {float}
    assert {type(turn.valid) for turn in found[1].turns} == {bool}
    assert found[1].stop is StopReason.BUDGET


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "LIMIT", 2)
    monkeypatch.setattr(guard, "TICK", 0.02)


@pytest.mark.parametrize("name", HANGS)
@pytest.mark.parametrize("where", ["reset", "step", "key"])
def test_whatever_hangs_ends_one_episode(where, name, monkeypatch):
    monkeypatch.setattr(guard, "LIMIT", 2)
    # what catches everything is interrupted at every tick from then on
    monkeypatch.setattr(guard, "TICK", 1.0 if name == "catches everything" else 1 / 16)
    what, line = HANGS[name]
    assert (ended(wreck(where, what), 0).error or "").startswith(line)


@pytest.mark.parametrize("what", [spin, raiser(SystemExit(0)), raiser(BaseException("odd"))])
def test_a_close_that_fails_or_hangs_spoils_nothing(what, impatient, caplog):
    usual = rollout(Hall, starts(False), Speaker(0.7))
    assert rollout(wreck("close", what), starts(), Speaker(0.7)) == usual
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("task bad: close failed: ")


@pytest.mark.parametrize("what", [spin, raiser(SystemExit(0))])
def test_preparations_that_fail_or_hang_spoil_nothing(what, impatient):
    short = [replace(start, budget=Budget(1, 4)) for start in starts(False)]
    world = type("Ahead", (Hall,), {"ahead": staticmethod(what)})
    assert rollout(world, short, Speaker(0.7)) == rollout(Hall, short, Speaker(0.7))


def test_an_answer_in_time_is_an_answer_and_the_clock_is_given_back(impatient):
    slow = wreck("step", lambda step: (time.sleep(0.3), step)[1])
    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    try:
        usual = rollout(Hall, starts(False), Speaker(0.7))
        assert rollout(slow, starts(), Speaker(0.7)) == usual
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_IGN
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_time_in_which_this_process_is_stopped_does_not_count():
    """A job that a cluster suspends goes on as if nothing had been."""
    script = (
        "from turnscope import guard\n"
        "guard.LIMIT, guard.TICK = 4, 1 / 16\n"
        "with guard.watching() as call: print(call(input, 'asks\\n'))\n"
    )
    command, pipe = [sys.executable, "-c", script], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1) as job:
        assert job.stdout is not None
        assert job.stdin is not None
        assert job.stdout.readline() == "asks\n"
        job.send_signal(signal.SIGSTOP)
        time.sleep(5)
        job.send_signal(signal.SIGCONT)
        job.stdin.write("answer\n")
        assert job.stdout.read() == "answer\n"


def test_another_thread_plays_without_a_limit():
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(rollout(Hall, starts(False), Speaker())))
    thread.start()
    thread.join()
    assert found[0] == rollout(Hall, starts(False), Speaker())


def test_a_person_who_interrupts_is_heard():
    with pytest.raises(KeyboardInterrupt):
        rollout(wreck("step", raiser(KeyboardInterrupt())), starts(), Speaker())


class Meddler(Hall):
    """Makes its task easier when it is reset."""

    def reset(self, task: Task, seed: int) -> str:
        said = super().reset(task, seed)
        if task.payload.get("wrecked"):
            task.payload["length"] -= 1
            task.payload.setdefault("seen", []).append(seed)
        return said


def test_a_task_that_its_environment_changes_is_given_back_and_its_episodes_are_data():
    usual, posed = rollout(Hall, starts(False), Speaker(0.7)), starts()
    posed += [replace(posed[1], sample=1), replace(posed[0], sample=1)]
    found = rollout(Meddler, posed, Speaker(0.7))
    assert posed[1].task.payload == {"length": 4, "wrecked": True}
    assert [found[0], found[2]] == [usual[0], usual[2]]
    assert found[4] == replace(usual[0], sample=1)
    for episode in (found[1], found[3]):
        assert episode.success is None
        assert episode.error == "ValueError: the environment changed its task"


FAULTS = [
    ("step", raiser(SystemExit(0))),
    ("step", answer(GOOD._replace(reward=math.nan))),
    ("key", answer(None)),
    ("reset", raiser(MemoryError())),
    ("close", raiser(RecursionError())),
    ("reseed", raiser(BaseException("odd"))),
]


@pytest.mark.parametrize(("where", "what"), FAULTS)
def test_tables_of_episodes_hold_what_failed_and_all_others(where, what, tmp_path):
    def written(world: Any, name: str, wrecked: bool) -> tuple[Any, Any]:
        who = {"env": "hall", "model": "m", "policy": "p"}
        plan = sampling.Plan(world, tasks(wrecked), BUDGET, 3, 4, 1, 1.0, who)
        paths = tmp_path / f"{name}-e.parquet", tmp_path / f"{name}-t.parquet"
        sampling.write([plan], Speaker(0.7), *paths)
        return tables.read(paths[0], "episodes"), tables.read(paths[1], "turns")

    usual, turns = written(Hall, "usual", False)
    heads, rows = written(wreck(where, what), "found", True)
    for found, wanted in ((heads, usual), (rows, turns)):
        others = found.loc[found["task_id"] != "bad"].reset_index(drop=True)
        assert others.equals(wanted.loc[wanted["task_id"] != "bad"].reset_index(drop=True))
    bad = heads.loc[heads["task_id"] == "bad"]
    failed = where not in ("close", "reseed")
    assert bad["success"].isna().tolist() == [failed] * 3
    assert bad["error"].notna().tolist() == [failed] * 3


@pytest.mark.parametrize(("where", "what"), FAULTS)
def test_a_step_of_training_goes_on(where, what):
    study = Study(wreck(where, what), tasks(), BUDGET, grpo.make(), 0)
    recipe = Recipe(1, 3, 2, 0.1, 1)
    batch = play(study, Speaker(0.7), [task for task in tasks() for _ in range(2)], 0, recipe)
    failed = where not in ("close", "reseed")
    assert [paid is None for paid in batch.rewards] == [False] * 2 + [failed] * 2 + [False] * 2
    assert all(np.isfinite(one).all() for one in batch.advantages)


@pytest.mark.parametrize(("where", "what"), FAULTS)
def test_matched_states_continuations_and_probes_go_on(where, what):
    pair = hall_pair(hall(9, "one"), hall(9, "bad", wrecked=True), errors=lambda *_: [])
    pair = replace(pair, environment=wreck(where, what))
    states = [state("one", "go"), state("bad", "go", place=1)]
    rows = matched.actions(pair, states, 2)
    fails = where != "close"
    assert {row["task_id"] for row in rows} == ({"one"} if fails else {"one", "bad"})
    rows = matched.continuations(pair, states, 2)
    assert len(rows) == 8
    assert {row["stop"] for row in rows if row["task_id"] == "one"} <= {"budget", "success"}
    stops = {row["stop"] for row in rows if row["task_id"] == "bad"}
    assert (stops == {"error"}) is fails
    posed = list(pair.tasks.values())
    study = Study(pair.environment, posed, BUDGET, grpo.make(), 0)
    found = examine(study, Exam(posed, 1, 2, states, 1), Speaker(0.7))
    probed = [row["task_id"] for row in found if row["source"] == "probe"]
    assert probed == ["one"] * 2 + ([] if fails else ["bad"] * 2)
