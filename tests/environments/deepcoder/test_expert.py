import pytest

from tests.environments.deepcoder.by_hand import DOUBLE, SCRIPT, task
from turnscope.environments import deepcoder
from turnscope.environments.deepcoder import Environment, list_programs
from turnscope.environments.deepcoder.judge import shared
from turnscope.environments.deepcoder.problems import Problem


def test_gold_is_the_solution_if_there_is_one():
    assert deepcoder.gold(task(SCRIPT), 0) == [SCRIPT.solution]
    unknown = Problem("x", "?", "f", "", DOUBLE.public, DOUBLE.private, None, "s")
    with pytest.raises(ValueError, match="task x: no solution is known"):
        deepcoder.gold(task(unknown), 0)


def posed(number: int = 1) -> list[Environment]:
    found = []
    for one in deepcoder.tasks(3, train=number, test=0):
        found.append(Environment())
        found[-1].reset(one, 0)
    return found


@pytest.mark.parametrize("skill", [0.4, 1.0])
@pytest.mark.parametrize("turn", [0, 1, 5])
def test_the_expert_is_wrong_first_and_right_more_and_more_often(turn, skill):
    environments, number = posed(8), 1600
    right = sum(
        deepcoder.expert(environment, seed, turn, skill, 1) == environment.asked.problem.solution
        for environment in environments
        for seed in range(number // 8)
    )
    expected = skill * (1 - (1 - deepcoder.LUCK) ** (turn + 1))
    noise = (expected * (1 - expected) / number) ** 0.5
    assert right / number == pytest.approx(expected, abs=4.5 * noise)


def test_an_expert_of_no_skill_misses_each_time_in_another_way():
    for environment in posed(8):
        problem = environment.asked.problem
        code = list_programs.catalogue()[str(problem.solution)]
        misses = list_programs.near(code)
        for turn in range(len(misses)):
            environment.tried.append(deepcoder.expert(environment, 11, turn, 0.0, 1))
        assert sorted(environment.tried) == sorted(misses)
        assert deepcoder.expert(environment, 11, len(misses), 0.0, 1) in misses


def test_after_the_first_turn_the_expert_misses_few_public_tests():
    for environment in posed(6):
        problem = environment.asked.problem
        code = list_programs.catalogue()[str(problem.solution)]
        fails = sorted(
            list_programs.fails(text, problem.public) for text in list_programs.near(code)
        )
        most = fails[max(3, len(fails) // 3) - 1]
        for seed in range(40):
            said = deepcoder.expert(environment, seed, 1, 0.0, 1)
            assert list_programs.fails(said, problem.public) <= most


def test_the_expert_runs_no_program():
    (environment,) = posed()
    before = shared().runs, shared().hits
    for seed in range(50):
        environment.tried.append(deepcoder.expert(environment, seed, seed % 5, 0.5, 1))
    assert (shared().runs, shared().hits) == before


def test_other_problems_have_no_expert():
    environment = Environment()
    environment.reset(task(), 0)
    with pytest.raises(ValueError, match="double has no expert"):
        deepcoder.expert(environment, 1, 0, 1.0, 1)


def test_where_no_other_function_is_near_the_expert_has_but_the_solution():
    text = "def f(x): return ( x * 3 + 6 )"
    alone = list_programs.catalogue()[text]
    assert list_programs.near(alone) == ()
    problem = Problem("alone", "?", "f", "", DOUBLE.public, DOUBLE.private, text, "integer")
    environment = Environment()
    environment.reset(task(problem), 0)
    for turn in range(3):
        assert deepcoder.expert(environment, 1, turn, 0.0, 1) == text
