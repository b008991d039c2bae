import json
from itertools import islice

import pytest

from turnscope.environments import bfcl
from turnscope.environments.bfcl import _catalogue, small_requests
from turnscope.environments.bfcl._plans import plan, turns
from turnscope.environments.bfcl._scenes import compact
from turnscope.environments.bfcl.host import simulator
from turnscope.types import Task

PROBLEMS = {split: list(small_requests.problems(7, split, 90)) for split in ("train", "test")}


def calls_of(problem: small_requests.Problem) -> list[str]:
    return [call for calls in problem.payload["gold"] for call in calls]


def say(payload: dict, calls: list, said: list, seed: int = 0, skill: float = 1.0) -> str:
    return small_requests.expert(payload, 0, calls, said, seed, 0, skill, 9)


def files(requests: list[str], gold: list[list[str]]) -> dict:
    """Make a problem by hand: `plan` is in `docs` and `memo` in `pics`."""
    folders = {"docs": {"plan": "red"}, "pics": {"memo": "tan"}}
    contents = {
        folder: {
            "type": "directory",
            "contents": {name: {"type": "file", "content": text} for name, text in inside.items()},
        }
        for folder, inside in folders.items()
    }
    root = {"home": {"type": "directory", "contents": contents}}
    return {
        "category": "base",
        "requests": requests,
        "classes": ["GorillaFileSystem"],
        "config": {"GorillaFileSystem": {"root": root}},
        "functions": list(_catalogue.SCENES["GorillaFileSystem"].parameters),
        "held": {},
        "gold": gold,
    }


RENAME = files(
    ["rename plan as map"],
    [["find(path='/', name='plan')", "cd(folder='docs')", "mv(source='plan', destination='map')"]],
)
CRUISE = {
    "classes": ["VehicleControlAPI"],
    "config": {"VehicleControlAPI": {}},
    "functions": ["setCruiseControl"],
    "requests": ["cruise at 60 gap 20"],
    "gold": [
        [
            "pressBrakePedal(pedalPosition=1)",
            "startEngine(ignitionMode='START')",
            "setCruiseControl(speed=60, activate=True, distanceToNextVehicle=20)",
        ]
    ],
}


def test_problems_are_the_same_every_time_and_fewer_are_the_first_of_more():
    assert list(small_requests.problems(7, "test", 90)) == PROBLEMS["test"]
    assert list(small_requests.problems(7, "test", 30)) == PROBLEMS["test"][:30]
    assert list(small_requests.problems(8, "test", 90)) != PROBLEMS["test"]


def test_no_payload_comes_twice():
    texts = [
        json.dumps([one.payload["config"], one.payload["requests"]], sort_keys=True)
        for problems in PROBLEMS.values()
        for one in problems
    ]
    assert len(set(texts)) == 180


def test_classes_come_in_turn_and_can_be_chosen():
    assert [one.stratum for one in PROBLEMS["train"][:4]] == ["files", "cars", "messages", "files"]
    cars = islice(small_requests.problems(7, "train", 9, ["VehicleControlAPI"]), 9)
    assert {one.stratum for one in cars} == {"cars"}


@pytest.mark.parametrize("classes", [[], ["TwitterAPI"], ["MessageAPI", "MathAPI"]])
def test_other_classes_are_refused(classes):
    with pytest.raises(ValueError, match="legal are some of GorillaFileSystem"):
        next(small_requests.problems(7, "train", 1, classes))


def test_pairs_of_test_problems_are_in_no_train_problem():
    pairs = {"mv", "cp", "echo", "send_message", "setCruiseControl"}
    train, test = (
        {call for one in PROBLEMS[split] for call in calls_of(one) if call.split("(")[0] in pairs}
        for split in ("train", "test")
    )
    assert train
    assert test
    assert not train & test


def test_plan_looks_before_it_acts():
    looks, acts = plan(RENAME, 0)
    assert compact(looks) == "find / plan"
    assert compact(acts) == "cd / ; cd docs ; mv plan map"


def test_expert_without_mistakes_says_the_plan_and_then_done():
    found, went, moved = '{"matches": ["/docs/plan"]}', "{}", "{}"
    calls = ["find(path='/', name='plan')"]
    assert say(RENAME, [], []) == "find / plan"
    assert say(RENAME, calls, [found]) == "cd / ; cd docs ; mv plan map"
    calls += ["cd(folder='/')", "cd(folder='docs')", "mv(source='plan', destination='map')"]
    assert say(RENAME, calls, [found, went, went, moved]) == "done"


def test_expert_says_again_what_failed():
    calls = ["find(name='plan', path='/')", "mv(source='plan', destination='map')"]
    said = ['{"matches": ["/docs/plan"]}', '{"error": "mv: cannot move"}']
    assert say(RENAME, calls, said) == "cd / ; cd docs ; mv plan map"


def test_expert_learns_from_the_error_that_the_engine_does_not_run():
    call = CRUISE["gold"][0][2]
    assert say(CRUISE, [], []) == "setCruiseControl 60 True 20"
    assert say(CRUISE, [call], ['{"error": "Start the engine"}']) == (
        "pressBrakePedal 1 ; startEngine START ; setCruiseControl 60 True 20"
    )


@pytest.mark.parametrize("call", ["rm(class=1)", "a.b(c=1)", "nobody_knows_me()"])
def test_calls_that_cannot_be_run_confuse_nobody(call):
    assert say(RENAME, [call], ["Error during execution: invalid syntax"]) == "find / plan"
    found = small_requests.mistakes(RENAME, 0, [call])
    assert found == small_requests.mistakes(RENAME, 0, [])


def test_expert_errs_less_with_more_skill():
    said = {
        skill: [say(RENAME, [], [], seed, skill) == "find / plan" for seed in range(1000)]
        for skill in (0.0, 0.5, 1.0)
    }
    assert sum(said[1.0]) == 1000
    assert sum(said[0.5]) == pytest.approx(700, abs=60)
    assert sum(said[0.0]) == pytest.approx(400, abs=60)


def pairs_in(text: str) -> set[str]:
    calls = [tuple(call.split(" ")) for call in text.split(" ; ")]
    return {" ".join(call) for call in calls if _catalogue.is_pair(call)}


def test_mistakes_at_a_train_problem_hold_no_pair_of_test():
    said = {split: set() for split in PROBLEMS}
    for split, made in PROBLEMS.items():
        for problem in made:
            for request in range(len(problem.payload["requests"])):
                for text in small_requests.mistakes(problem.payload, request, []):
                    said[split] |= pairs_in(text)
    assert said["train"]
    assert said["test"]
    assert not said["train"] & said["test"]


def test_mistakes_are_all_different_and_none_is_right():
    found = small_requests.mistakes(RENAME, 0, [])
    assert len(set(found)) == len(found)
    assert "done" in found
    assert "find / memo" in found
    assert "find / plan" not in found
    kept = [*RENAME["gold"][0]]
    assert "done" not in small_requests.mistakes(RENAME, 0, kept)


def test_problems_from_elsewhere_have_no_expert():
    with pytest.raises(ValueError, match="TwitterAPI"):
        say(RENAME | {"classes": ["TwitterAPI"]}, [], [])


@pytest.mark.usefixtures("package")
def test_official_checker_takes_every_solution_and_no_other():
    for problem in PROBLEMS["train"] + PROBLEMS["test"]:
        gold = problem.payload["gold"]
        one_by_one = [[[call] for call in calls] for calls in gold]
        assert not simulator().verdict(problem.payload, one_by_one)
        for place in range(len(gold)):
            shorter = [*one_by_one[:place], one_by_one[place][:-1], *one_by_one[place + 1 :]]
            assert simulator().verdict(problem.payload, shorter), problem.payload["requests"]


def test_nothing_is_asked_twice():
    for problem in PROBLEMS["train"] + PROBLEMS["test"]:
        asked = problem.payload["requests"]
        assert len(set(asked)) == len(asked)


def turns_of_expert(task: Task) -> int:
    """Count the turns in which an expert without mistakes succeeds; 0 if it does not."""
    environment = bfcl.Environment()
    environment.reset(task, 0)
    for turn in range(small_requests.LONGEST):
        if environment.step(bfcl.expert(environment, 0, turn, 1.0, 9)).success:
            return turn + 1
    return 0


@pytest.mark.usefixtures("package")
def test_expert_without_mistakes_succeeds_in_the_turns_of_its_plans():
    tasks = bfcl.tasks(7, train=60, test=60)
    needed = [turns_of_expert(task) for task in tasks]
    assert needed == [turns(task.payload) for task in tasks]
    assert {*needed} >= {2, 3, 5, 9}
