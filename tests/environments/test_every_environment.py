"""One checker for all environments: a new one is tested by being there."""

import inspect
import itertools
import json
import math
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from turnscope import draws, registry
from turnscope.policies import oracle, uniform
from turnscope.types import Action, Seat, Step, Task, Turn

NONSENSE = ["", " ", "\n", "\x00", "\x00left\x00", "💥", "ｌｅｆｔ", "x" * 10_000, "\ud7ff" * 3]
SEEDS = range(3)


@pytest.fixture(params=registry.names("environments"))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def module(name: str) -> Any:
    return registry.load("environments", name)


@pytest.fixture
def tasks(module: ModuleType) -> list[Task]:
    return module.tasks(11, **module.EXAMPLE)


def random_words(module: Any, seed: int, number: int) -> list[str]:
    words = module.words()
    return [words[int(draws.uniform(seed, turn) * len(words))] for turn in range(number)]


def play(module: Any, task: Task, seed: int, actions: list[str], reseed: tuple = ()) -> list:
    """Play actions until one terminates; return all that can be seen, state keys included.

    Args:
        module: The environment's module.
        task: What is played.
        seed: Of the noise.
        actions: What is said.
        reseed: Number of a turn and the seed from that turn on.
    """
    environment = module.Environment()
    seen: list = [(environment.reset(task, seed), environment.state_key())]
    for turn, action in enumerate(actions):
        if reseed and reseed[0] == turn:
            environment.reseed(reseed[1])
            seen.append(environment.state_key())
        step = environment.step(action)
        seen.append((step, environment.state_key()))
        if step.terminated:
            break
    environment.close()
    return seen


def play_policy(module: Any, policy: Any, task: Task, sample: int, turns: int) -> bool:
    """Play one episode of a policy; return its success."""
    environment = module.Environment()
    observation = environment.reset(task, draws.seed("noise", task.task_id, sample))
    history: list[Turn] = []
    seat = Seat(task, environment, draws.seed("policy", task.task_id, sample), turns, history)
    conversation = policy.begin([seat])
    success = False
    for _ in range(turns):
        (action,) = conversation.act([0], [observation], [4])
        assert isinstance(action, Action)
        step = environment.step(action.text)
        observation, success = step.observation, step.success
        seat.turns_left -= 1
        if step.terminated:
            break
    environment.close()
    return success


def steps_of(seen: list) -> list[Step]:
    return [entry[0] for entry in seen[1:] if isinstance(entry[0], Step)]


def test_module_and_class_say_what_they_are(module: ModuleType):
    assert module.__doc__
    for heading in ("Observation", "Action", "Reward", "Termination", "Randomness", "Graded"):
        assert f"\n{heading}:\n" in module.__doc__


def test_tasks_are_the_same_every_time_and_others_with_another_seed(module, tasks):
    assert module.tasks(11, **module.EXAMPLE) == tasks
    assert module.tasks(12, **module.EXAMPLE) != tasks


def test_tasks_are_named_once_and_train_comes_first(module, tasks):
    assert len({task.task_id for task in tasks}) == len(tasks)
    numbers = [module.EXAMPLE["train"], module.EXAMPLE["test"]]
    assert [task.split for task in tasks] == ["train"] * numbers[0] + ["test"] * numbers[1]


def test_no_payload_is_in_both_splits(tasks):
    train, test = (
        {json.dumps(task.payload, sort_keys=True) for task in tasks if task.split == split}
        for split in ("train", "test")
    )
    assert train
    assert test
    assert not train & test


def test_payloads_survive_json(module, tasks):
    for task in tasks:
        assert json.loads(json.dumps(task.payload)) == task.payload


def test_options_are_refused_when_misspelt(module):
    for call in (module.least_turns, lambda **options: module.tasks(0, **options)):
        with pytest.raises(TypeError, match="no_such_option"):
            call(**module.EXAMPLE, no_such_option=1)


def test_least_turns_is_a_lower_bound(module, tasks):
    least = module.least_turns(**module.EXAMPLE)
    assert least >= 1
    assert all(task.min_turns is None or task.min_turns >= least for task in tasks)


def test_an_episode_is_a_function_of_its_seed(module, tasks):
    for number, task in enumerate(tasks[:100]):
        actions = random_words(module, number, 12)
        assert play(module, task, 5, actions) == play(module, task, 5, actions)


def test_an_environment_can_be_used_again(module, tasks):
    environment = module.Environment()
    for number, task in enumerate(tasks[:30]):
        fresh = play(module, task, number, random_words(module, number, 8))
        again: list = [(environment.reset(task, number), environment.state_key())]
        for action in random_words(module, number, 8):
            again.append((step := environment.step(action), environment.state_key()))
            if step.terminated:
                break
        assert again == fresh


def test_noise_of_a_turn_is_that_of_its_seed_and_number(module, tasks):
    """A prefix under one seed, then a change to the same seed, is no change at all."""
    for number, task in enumerate(tasks[:100]):
        actions = random_words(module, number, 10)
        whole = play(module, task, 7, actions)
        branch = play(module, task, 7, actions, reseed=(3, 7))
        assert [entry for entry in branch if isinstance(entry, tuple)] == whole


def test_reseeding_changes_the_future_and_not_the_state(module, tasks):
    changed, noisy = 0, False
    for number, task in enumerate(tasks[:100]):
        actions = random_words(module, number, 10)
        whole = play(module, task, 7, actions)
        noisy |= any(play(module, task, seed, actions) != whole for seed in SEEDS)
        branch = play(module, task, 7, actions, reseed=(3, 8))
        assert branch[:4] == whole[:4]
        if len(whole) > 4:
            assert branch[4] == whole[3][1]
            assert branch == play(module, task, 7, actions, reseed=(3, 8))
            changed += [entry for entry in branch if isinstance(entry, tuple)] != whole
    assert (changed > 0) == noisy


def test_equal_prefixes_lead_to_equal_states(module, tasks):
    for number, task in enumerate(tasks[:50]):
        actions = random_words(module, number, 10)
        short, long = (play(module, task, 3, actions[:n]) for n in (5, 10))
        assert long[: len(short)] == short


def test_nonsense_is_a_legal_turn(module, tasks):
    near = [f"{word}{extra}" for word in module.words() for extra in ("s", ".", "\x00", "!!")]
    near += [word[:-1] for word in module.words()]
    texts = [text for text in NONSENSE + near if text not in module.words()]
    for task in tasks[:5]:
        environment = module.Environment()
        environment.reset(task, 1)
        for text in texts:
            step = environment.step(text)
            assert (step.valid, step.terminated, step.success) == (False, False, False), text
            assert step.observation
        assert environment.step(module.words()[0]).valid
        environment.close()


def test_words_are_valid_at_the_start(module, tasks):
    for word in module.words():
        environment = module.Environment()
        environment.reset(tasks[0], 1)
        assert environment.step(word).valid


def test_gold_succeeds_on_every_task_and_seed(module, tasks):
    for task in tasks:
        for seed in SEEDS:
            actions = module.gold(task, seed)
            steps = steps_of(play(module, task, seed, actions))
            assert len(steps) == len(actions)
            assert steps[-1].success
            assert task.min_turns is None or len(actions) >= task.min_turns


def test_only_the_last_step_terminates_and_only_then_it_may_succeed(module, tasks):
    endings = set()
    for number, task in enumerate(tasks[:60]):
        steps = steps_of(play(module, task, number, random_words(module, number, 40)))
        assert not any(step.terminated or step.success for step in steps[:-1])
        assert steps[-1].terminated or not steps[-1].success
        assert all(type(step.terminated) is type(step.success) is bool for step in steps)
        endings.add((steps[-1].terminated, steps[-1].success))
    assert (True, True) in endings


def test_closing_twice_is_safe(module, tasks):
    environment = module.Environment()
    environment.close()
    environment.reset(tasks[0], 0)
    environment.close()
    environment.close()


def test_environment_does_not_see_the_budget(module):
    parameters = inspect.signature(module.Environment).parameters
    assert not {"turns", "budget", "max_turns"} & set(parameters)


def test_bound_grows_from_min_turns_on(module, tasks):
    if not hasattr(module, "bound"):
        pytest.skip("the environment knows no bound")
    for task in tasks:
        bound = module.bound(task, 15)
        assert len(bound) == 15
        assert all(0 <= value <= 1 for value in bound)
        assert all(a <= b + 1e-12 for a, b in itertools.pairwise(bound))
        assert task.min_turns is not None
        assert not any(bound[: task.min_turns - 1])
        assert task.min_turns > 15 or bound[task.min_turns - 1] > 0
        assert module.bound(task, 6) == bound[:6]


@pytest.mark.parametrize("turns", [3, 8])
def test_no_policy_beats_the_bound_and_the_oracle_reaches_it(name, module, tasks, turns):
    if not (hasattr(module, "bound") and hasattr(module, "values")):
        pytest.skip("the environment knows no bound or no values")
    bounds = [module.bound(task, turns)[-1] for task in tasks]
    samples = 8
    noise = math.sqrt(samples * sum(value * (1 - value) for value in bounds))
    most = samples * sum(bounds)
    for policy, is_best in (
        (oracle.Policy(env=name), True),
        (uniform.Policy(words=module.words()), False),
    ):
        solved = sum(
            play_policy(module, policy, task, sample, turns)
            for task in tasks
            for sample in range(samples)
        )
        assert solved <= most + 4 * noise
        assert not is_best or solved >= most - 4 * noise


def test_values_agree_with_the_bound_at_the_start(module, tasks):
    if not (hasattr(module, "bound") and hasattr(module, "values")):
        pytest.skip("the environment knows no bound or no values")
    for task in tasks[:50]:
        environment = module.Environment()
        environment.reset(task, 0)
        bound = module.bound(task, 12)
        for turns in (1, 4, 12):
            values = module.values(environment, turns)
            assert list(values) == module.words()
            assert max(values.values()) == pytest.approx(bound[turns - 1], abs=1e-12)


def test_step_quality_equals_values_along_an_episode(module, tasks):
    if not (hasattr(module, "step_quality") and hasattr(module, "values")):
        pytest.skip("the environment knows no step quality or no values")
    for task in tasks[:20]:
        environment = module.Environment()
        environment.reset(task, 3)
        for left in range(6, 0, -1):
            values, key = module.values(environment, left), environment.state_key()
            quality = module.step_quality(task, key, module.words()[0], left)
            for word, value in values.items():
                quality = module.step_quality(task, key, word, left)
                assert quality.value == pytest.approx(value, abs=1e-12)
                assert quality.best == pytest.approx(max(values.values()), abs=1e-12)
                assert 0 <= quality.value <= quality.best <= 1
            wasted = module.step_quality(task, key, "\x00 no such action", left)
            later = max(module.values(environment, left - 1).values()) if left > 1 else 0.0
            assert wasted == (pytest.approx(later, abs=1e-12), quality.best)
            said = module.words()[left % len(module.words())]
            if environment.step(said).terminated:
                break


def test_errors_are_known_by_name_and_depend_on_what_they_are_told(module, tasks):
    if not hasattr(module, "ERRORS"):
        pytest.skip("the environment defines no errors")
    assert len(module.ERRORS) >= 2
    assert all(name.isalpha() and words for name, words in module.ERRORS.items())
    found = set()
    for number, task in enumerate(tasks):
        environment = module.Environment()
        observation = environment.reset(task, number)
        for turn, action in enumerate([*random_words(module, number, 7), "\x00 no such action"]):
            before, left = environment.state_key(), 8 - turn
            step = environment.step(action)
            played = Turn(observation, before, action, step.reward, step.valid)
            after, observation = environment.state_key(), step.observation
            names = module.errors(task, played, after, left - 1)
            assert names == [name for name in module.ERRORS if name in names]
            assert names == module.errors(task, played, after, left - 1)
            found |= {*names, "" if not names else names[0]}
            if step.terminated:
                break
    assert found == {*module.ERRORS, ""}


def test_mistakes_are_worse_than_the_best_and_there_are_none_where_all_is_alike(module, tasks):
    if not (hasattr(module, "mistakes") and hasattr(module, "step_quality")):
        pytest.skip("the environment knows no mistakes or no step quality")
    decisive = set()
    for number, task in enumerate(tasks[:40]):
        environment = module.Environment()
        environment.reset(task, number)
        for left in (2, 7):
            key = environment.state_key()
            mistakes = module.mistakes(task, key, left)
            qualities = [module.step_quality(task, key, word, left) for word in module.words()]
            assert len(set(mistakes)) == len(mistakes)
            for action in mistakes:
                worse = module.step_quality(task, key, action, left)
                assert worse.value < worse.best
            assert bool(mistakes) == any(one.value < one.best - 1e-9 for one in qualities)
            decisive.add(bool(mistakes))
    assert True in decisive


def test_expert_is_a_function_of_seed_and_turn(module, tasks):
    if not hasattr(module, "expert"):
        pytest.skip("the environment has no expert")
    environment = module.Environment()
    environment.reset(tasks[0], 0)
    said = [module.expert(environment, 5, turn, 0.5, 9) for turn in range(50)]
    assert said == [module.expert(environment, 5, turn, 0.5, 9) for turn in range(50)]
    assert len(set(said)) > 1
    for action in set(said):
        environment.reset(tasks[0], 0)
        assert environment.step(action).valid


def test_example_is_of_the_promised_size(module: ModuleType):
    example = SimpleNamespace(**module.EXAMPLE)
    assert 100 <= example.train + example.test <= 1000
