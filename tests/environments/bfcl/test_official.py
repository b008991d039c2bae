import json
import os
import subprocess
import sys
from collections import Counter
from functools import cache

import jsonschema
import pytest

from turnscope.environments.bfcl import official

pytestmark = pytest.mark.usefixtures("package")


@cache
def every():
    """Return all tasks; they need the package."""
    return official.tasks(0, train=400, test=400)


def scenario(task):
    return int(task.task_id.rpartition("_")[2])


def test_all_tasks_are_there_half_of_each_subject_on_either_side():
    assert len(every()) == 800
    assert [task.split for task in every()] == ["train"] * 400 + ["test"] * 400
    assert set(Counter((task.split, task.stratum) for task in every()).values()) == {100}
    assert set(Counter(task.payload["category"] for task in every()).values()) == {200}


def test_a_scenario_is_on_one_side_with_all_its_categories():
    sides = {}
    for task in every():
        sides.setdefault(scenario(task), []).append((task.split, task.stratum, task.cluster))
    assert len(sides) == 200
    for number, found in sides.items():
        assert len(found) == 4
        assert len({*found}) == 1
        assert found[0][1] == ("files", "vehicle", "trading", "travel")[number // 50]


def test_one_side_does_not_depend_on_the_size_of_the_other():
    def names(split, **options):
        return [task.task_id for task in official.tasks(3, **options) if task.split == split]

    assert names("train", train=50, test=8) == names("train", train=50, test=400)
    assert names("test", train=8, test=50) == names("test", train=400, test=50)
    assert names("test", train=8, test=120)[:50] == names("test", train=8, test=50)
    assert names("test", train=8, test=50) != [
        task.task_id for task in official.tasks(4, train=8, test=50) if task.split == "test"
    ]


def test_subjects_take_turns():
    some = official.tasks(0, train=8, test=6, categories=["base", "miss_func"])
    assert [task.stratum for task in some[:8:2]] == ["files", "vehicle", "trading", "travel"]
    assert [task.stratum for task in some[8::2]] == ["travel", "trading", "vehicle"]
    assert [task.payload["category"] for task in some[:2]] == ["base", "miss_func"]


def test_scenarios_are_clusters_where_there_are_many():
    few = official.tasks(0, train=4, test=116)
    assert all(task.cluster == task.task_id for task in few if task.split == "test")
    many = official.tasks(0, train=4, test=120)
    assert Counter(Counter(task.cluster for task in many).values()) == {4: 31}


def test_a_task_is_what_the_files_say():
    (task,) = [task for task in every() if task.task_id == "multi_turn_miss_func_1"]
    payload = task.payload
    assert payload["category"] == "miss_func"
    assert payload["classes"] == ["GorillaFileSystem"]
    assert payload["requests"][2:] == [
        "",
        "Investigate within 'log.txt' for the occurrence of the keyword 'Error'.",
        "Finally, show the last 20 lines the file.",
    ]
    assert payload["held"] == {"2": ["mv"]}
    assert "mv" not in payload["functions"]
    assert payload["gold"][1:3] == [
        [],
        ["cd(folder='workspace')", "mv(source='log.txt',destination='archive')"],
    ]
    assert task.min_turns == 2 + 1 + 2 + 2 + 2
    assert json.loads(json.dumps(payload)) == payload


def test_functions_are_held_back_without_any_other_message():
    for task in every():
        payload = task.payload
        assert len(payload["requests"]) == len(payload["gold"])
        empty = {str(number) for number, text in enumerate(payload["requests"]) if not text}
        assert empty == {*payload["held"]}
        assert (payload["category"] == "miss_func") == bool(payload["held"])


def test_golds_call_documented_functions_and_one_before_it_is_there():
    early = []
    for task in every():
        known = {*task.payload["functions"]}
        for number, calls in enumerate(task.payload["gold"]):
            known |= {*task.payload["held"].get(str(number), [])}
            early += [task.task_id for call in calls if call.partition("(")[0] not in known]
    assert early == ["multi_turn_miss_func_49"]


LOAD = """
import json, sys
from bfcl_eval.utils import load_dataset_entry
found = {}
for kind in sys.argv[1:]:
    for one in load_dataset_entry(f"multi_turn_{kind}", include_language_specific_hint=False):
        held = one.get("missed_function", {})
        found[one["id"]] = [
            [document["name"] for document in one["function"]],
            {turn: [document["name"] for document in held[turn]] for turn in held},
            one["function"][0],
        ]
print(json.dumps(found))
"""


def test_functions_are_those_of_the_official_loader(tmp_path):
    places = {"PYTHONPATH": str(official.folder()), "BFCL_PROJECT_ROOT": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", LOAD, *official.CATEGORIES],
        env=os.environ | places | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = json.loads(done.stdout)
    assert len(loaded) == 800
    for task in every():
        names, held, first = loaded[task.task_id]
        assert task.payload["functions"] == names
        assert task.payload["held"] == held
        assert official.documents(task.payload["classes"])[first["name"]] == first


def test_tools_are_json_schema_and_say_what_the_documents_say():
    documents = official.documents([*official.DOCUMENTS])
    assert len(documents) == 128
    tools = official.tools([*documents.values()])
    for tool, (name, document) in zip(tools, documents.items(), strict=True):
        assert tool["type"] == "function"
        function = tool["function"]
        assert (function["name"], function["description"]) == (name, document["description"])
        schema = function["parameters"]
        jsonschema.Draft202012Validator.check_schema(schema)
        assert [*schema["properties"]] == [*document["parameters"]["properties"]]
    (lock,) = [tool["function"] for tool in tools if tool["function"]["name"] == "lockDoors"]
    jsonschema.validate({"unlock": True, "door": ["driver"]}, lock["parameters"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"unlock": 1, "door": ["driver"]}, lock["parameters"])
    assert documents["fillFuelTank"]["parameters"]["properties"]["fuelAmount"]["type"] == "float"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"train": -1, "test": 1}, "train is -1; legal is 0 or more"),
        ({"train": 401, "test": 400}, "need 201 scenarios of their own; there are 200"),
        ({"train": 101, "test": 100, "categories": ["base"]}, "need 201 scenarios"),
        ({"train": 1, "test": 1, "categories": ["composite"]}, "legal are some of base, miss_func"),
        ({"train": 1, "test": 1, "categories": ["base", "base"]}, "each once"),
        ({"train": 1, "test": 1, "categories": []}, "legal are some of"),
    ],
)
def test_options_out_of_range_are_refused(options, says):
    for function in (official.check, lambda **given: official.tasks(0, **given)):
        with pytest.raises(ValueError, match=says):
            function(**options)


def test_unknown_classes_have_no_documents():
    with pytest.raises(ValueError, match="unknown class 'WebSearchAPI'; known: GorillaFileSystem"):
        official.documents(["WebSearchAPI"])
