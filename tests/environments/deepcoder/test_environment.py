from itertools import permutations

import pytest

from tests.environments.deepcoder.by_hand import (
    DOUBLE,
    RIGHT,
    SCRIPT,
    SHOWN,
    WRONG,
    play,
    steps,
    task,
)
from tests.toys import Speaker, Talk
from turnscope import draws
from turnscope.environments import deepcoder
from turnscope.environments.deepcoder import Environment
from turnscope.environments.deepcoder.judge import shared
from turnscope.rollout import Start, rollout
from turnscope.types import Action, Budget, Step, StopReason

BOTH = pytest.mark.parametrize("problem", [DOUBLE, SCRIPT], ids=lambda one: one.name)


SOLVED = Step("all tests pass", 1.0, True, True)
HIDDEN = Step("public tests pass, hidden ones do not", 0.0, True)


FAILED = Step("public tests do not pass", 0.0, True)


@BOTH
def test_by_default_public_tests_end_the_episode_and_hidden_ones_decide(problem):
    name = problem.name
    wrong, right = steps(problem, WRONG[name], RIGHT[name])
    assert not wrong.terminated
    assert (wrong.reward, wrong.success, wrong.valid) == (0.0, False, True)
    assert right == SOLVED
    assert steps(problem, SHOWN[name]) == [HIDDEN]


@BOTH
def test_with_ends_all_the_episode_goes_on_until_hidden_tests_pass(problem):
    name = problem.name
    shown, right = steps(problem, SHOWN[name], RIGHT[name], ends="all")
    assert shown == Step("public tests pass", 0.0, False)
    assert right == SOLVED
    said = "public tests pass; check it again, or submit"
    assert steps(problem, SHOWN[name], ends="all", view="full") == [Step(said, 0.0, False)]


@BOTH
def test_with_ends_submit_only_submit_ends_the_episode(problem):
    name = problem.name
    right, shown, end = steps(problem, RIGHT[name], SHOWN[name], "submit", ends="submit")
    assert right == shown == Step("public tests pass", 0.0, False)
    assert end == HIDDEN
    assert steps(problem, SHOWN[name], RIGHT[name], "submit", ends="submit")[-1] == SOLVED


@pytest.mark.parametrize("ends", ["public", "all", "submit"])
@BOTH
def test_submit_ends_with_the_last_program_under_each_protocol(problem, ends):
    assert steps(problem, WRONG[problem.name], " submit\n", ends=ends)[-1] == FAILED


def test_submit_without_a_program_is_a_wasted_turn():
    nothing = Step("there is no program to submit", 0.0, False, valid=False)
    assert steps(DOUBLE, "submit") == [nothing]
    *_, after_none, right = steps(DOUBLE, WRONG["double"], "", "submit", RIGHT["double"])
    assert (after_none, right) == (nothing, SOLVED)


@pytest.mark.parametrize("said", ["Submit.", "`submit`", "<think>pass</think>\n'SUBMIT'\n"])
def test_submit_is_understood_as_models_write_it(said):
    assert steps(DOUBLE, RIGHT["double"], said, ends="submit")[-1] == SOLVED


@pytest.mark.parametrize(
    "said", ["submit it", "<think>x</think>\nsubmit now", "```python\nsubmit\n```"]
)
def test_an_answer_of_more_than_the_word_is_a_program(said):
    *_, (step, key) = play(DOUBLE, RIGHT["double"], said, ends="submit")
    assert (step.observation, step.valid, step.terminated) == ("missing", False, False)
    assert key.startswith("missing 0/2 0/4 ")


def test_what_is_no_program_is_invalid_and_costs_the_penalty():
    actions = ["", "```python\n \n```", "def f(x:", "def g(x): return 2 * x", "submit"]
    for step in steps(DOUBLE, *actions, penalty=0.25)[:4]:
        assert (step.reward, step.valid, step.terminated) == (-0.25, False, False)
    (step,) = steps(DOUBLE, "submit", penalty=0.25)
    assert (step.reward, step.valid) == (-0.25, False)


def test_a_program_that_runs_is_valid_whatever_becomes_of_it():
    actions = [WRONG["double"], "def f(x): return 1 / 0", "def f(x):\n    while True: pass"]
    for step in steps(DOUBLE, *actions, penalty=0.25):
        assert (step.reward, step.valid, step.terminated) == (0.0, True, False)
    assert steps(DOUBLE, RIGHT["double"], penalty=0.25) == [SOLVED]


def test_a_reward_of_nothing_is_no_negative_zero():
    for step in steps(DOUBLE, "", "submit", "def f(x:", WRONG["double"], "submit"):
        assert str(step.reward) == "0.0"


@BOTH
def test_a_script_without_lines_to_define_is_run_as_it_is(problem):
    step, _ = play(problem, "submit now")[0]
    assert step.valid == (problem is SCRIPT and "SyntaxError" in step.observation)


def test_at_most_as_many_failures_as_asked_for_are_shown_each_cut():
    wrong = "def f(x): return 'abcdefghij'"
    assert steps(DOUBLE, wrong, failures=1, cut=3)[0].observation == "1 = 2 not abc..."
    assert (
        steps(DOUBLE, wrong, failures=9, cut=10)[0].observation
        == "1 = 2 not abcdefghij ; 2 = 4 not abcdefghij"
    )


def test_a_play_is_over_when_it_is_over():
    environment = Environment()
    with pytest.raises(RuntimeError, match="reset"):
        environment.step(RIGHT["double"])
    environment.reset(task(), 0)
    assert environment.step(RIGHT["double"]).success
    with pytest.raises(RuntimeError, match="reset"):
        environment.step(RIGHT["double"])
    environment.reset(task(SCRIPT), 0)
    assert environment.state_key() == "start"
    assert not environment.step(WRONG["script"]).terminated
    environment.close()
    with pytest.raises(RuntimeError, match="reset"):
        environment.step(RIGHT["script"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"view": "long"}, ["view", "'long'", "terse, full"]),
        ({"ends": "never"}, ["ends", "'never'", "public, all, submit"]),
        ({"failures": 0}, ["failures", "0", "1 or more"]),
        ({"cut": 0}, ["cut", "0", "1 or more"]),
        ({"penalty": -0.5}, ["penalty", "-0.5", "0 or more"]),
    ],
)
def test_options_out_of_range_are_refused_in_one_line(options, words):
    with pytest.raises(ValueError, match=words[0]) as refusal:
        Environment(**options)
    said = str(refusal.value)
    assert all(word in said for word in words)
    assert "\n" not in said


def test_episodes_side_by_side_do_not_know_of_each_other():
    plays = [
        (DOUBLE, [WRONG["double"], "", RIGHT["double"]]),
        (DOUBLE, ["def f(x:", SHOWN["double"]]),
        (SCRIPT, [WRONG["script"], RIGHT["script"]]),
    ]
    alone = [play(problem, *actions) for problem, actions in plays]
    for order in permutations(range(3)):
        environments = [Environment() for _ in plays]
        for environment, (problem, _) in zip(environments, plays, strict=True):
            environment.reset(task(problem), 0)
        seen: list[list] = [[], [], []]
        for turn in range(3):
            for place in order:
                if turn < len(plays[place][1]):
                    step = environments[place].step(plays[place][1][turn])
                    seen[place].append((step, environments[place].state_key()))
        assert seen == alone


class Reciting(Talk):
    def act(self, rows, observations, limits):
        said = super().act(rows, observations, limits)
        words = [*deepcoder.words()[:6], "submit", "", "def f(x:", RIGHT["double"]]
        place = [action.action_ids[0] for action in said]
        return [
            Action(words[at % len(words)], one.context_ids, one.action_ids, one.logprobs)
            for at, one in zip(place, said, strict=True)
        ]


class Reciter(Speaker):
    def begin(self, seats):
        return Reciting(self, seats)


class Unprepared(Environment):
    ahead = None  # type: ignore[assignment]


def test_a_rollout_is_the_same_in_any_batch_and_whether_programs_are_judged_ahead_or_not():
    posed = deepcoder.tasks(5, train=0, test=6)
    starts = [
        Start(one, sample, draws.seed(one.task_id, sample), Budget(5, 4))
        for one in posed
        for sample in range(3)
    ]
    together = rollout(Environment, starts, Reciter())
    assert rollout(Unprepared, starts, Reciter()) == together
    assert rollout(Environment, starts[::-1], Reciter()) == together[::-1]
    assert [rollout(Environment, [one], Reciter())[0] for one in starts] == together
    assert not any(episode.stop is StopReason.ERROR for episode in together)
    assert len({episode.stop for episode in together}) > 1


def test_submit_and_answers_without_a_program_are_not_judged_ahead():
    environment = Environment()
    environment.reset(task(SCRIPT), 0)
    before = shared().runs
    Environment.ahead([(environment, "submit"), (environment, " "), (environment, "```\n```")])
    assert shared().runs == before


def test_a_text_that_cannot_be_a_program_is_none_that_ran():
    before = deepcoder.facts()["verdicts"]
    steps(DOUBLE, "no name of it", "nor here")
    assert deepcoder.facts()["verdicts"] == before
    step, *_ = steps(DOUBLE, "no name of it")
    assert (step.observation, step.valid) == ("missing", False)
    assert deepcoder.facts()["verdicts"] == before | {"hits": before["hits"] + 1}


def test_facts_say_how_programs_were_isolated_and_how_many_ran():
    play(DOUBLE, "def f(x): return 'facts'")
    before = deepcoder.facts()
    assert any("seccomp" in line for line in before["sandbox"])
    play(DOUBLE, "def f(x): return 'facts'")
    after = deepcoder.facts()["verdicts"]
    assert after == before["verdicts"] | {"hits": before["verdicts"]["hits"] + 1}
