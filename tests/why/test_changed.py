from pathlib import Path

from turnscope import provenance
from turnscope.why import changed


def test_a_value_is_named_by_its_path_with_what_it_was_and_is():
    then = {"arm": "grpo", "training": {"steps": 60, "seeds": [0, 1]}}
    now = {"arm": "grpo", "training": {"steps": 80, "seeds": [0, 1, 2]}}
    assert changed.specification(then, now) == [
        "training.steps 60 -> 80",
        "training.seeds [0, 1] -> [0, 1, 2]",
    ]
    assert changed.specification(then, then) == []


def test_a_key_that_came_or_went_is_absent_on_the_other_side():
    assert changed.specification({"told": False}, {"kind": None}) == [
        "kind absent -> null",
        "told false -> absent",
    ]


def test_what_was_empty_is_told_by_what_is_in_it_now():
    assert changed.specification({"options": {}}, {"options": {"scale": "none"}}) == [
        "options.scale absent -> none"
    ]
    assert changed.specification({}, {"options": {}}) == ["options absent -> {}"]


def test_values_differ_as_the_workflow_tells_them_apart():
    assert changed.specification({"a": 1}, {"a": 1}) == []
    assert changed.specification({"a": 1.0}, {"a": 1}) == ["a 1.0 -> 1"]
    assert changed.specification({"a": False}, {"a": 0}) == ["a false -> 0"]


def test_a_long_value_is_cut():
    (text,) = changed.specification({"a": ""}, {"a": "x" * 100})
    assert text == f"a  -> {'x' * 37}..."


def test_a_module_is_named_by_its_file_and_a_package_by_its_versions():
    now = provenance.modules(["algorithms.grpo"])
    then = now | {"turnscope.algorithms.grpo": "0", "turnscope.advantages": "0", "numpy": "1.0"}
    assert changed.code(then, now) == [
        "turnscope/advantages/__init__.py",
        "turnscope/algorithms/grpo.py",
        f"numpy 1.0 -> {now['numpy']}",
    ]


def test_modules_that_came_or_went_are_named():
    assert changed.code({"turnscope.old": "1"}, {"turnscope.draws": "2"}) == [
        "turnscope/draws.py (new)",
        "turnscope/old.py (gone)",
    ]


def test_inputs_that_came_or_went_are_named():
    then, now = [Path("a"), Path("b")], [Path("b"), Path("c")]
    assert changed.inputs(then, now) == ["c (new)", "a (gone)"]


def test_a_long_list_is_cut_and_counted():
    assert changed.listed(["a", "b", "c"]) == "a, b, c"
    assert changed.listed([*"abcde"]) == "a, b, c and 2 more"
