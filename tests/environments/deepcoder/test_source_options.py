import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

from turnscope.environments import deepcoder
from turnscope.environments.deepcoder.sources import Options, check, tasks

REFUSED = [
    ({"source": "web"}, ["unknown source 'web'", "list_programs, humaneval, preview, file"]),
    ({"source": "file"}, ["path is None", "a file with source 'file'"]),
    ({"path": "a.jsonl"}, ["path is 'a.jsonl'", "else nothing"]),
    ({"source": "humaneval", "path": "a.jsonl"}, ["path is 'a.jsonl'", "else nothing"]),
    ({"source": "file", "path": "no.jsonl"}, ["path is 'no.jsonl'", "legal is a file that exists"]),
    ({"source": "file", "path": "."}, ["path is '.'", "legal is a file that exists"]),
    ({"sha256": "00"}, ["sha256 is '00'", "else nothing"]),
    ({"train": -1}, ["train is -1", "legal is 0 or more"]),
    ({"test": -3}, ["test is -3", "legal is 0 or more"]),
    ({"memory": 63}, ["memory is 63", "legal is 64 or more"]),
    ({"cpu": 0}, ["cpu is 0", "legal is above 0"]),
    ({"cpu": float("nan")}, ["cpu is nan", "legal is above 0"]),
    ({"wall": -2.0}, ["wall is -2.0", "legal is above 0"]),
    ({"cpu": float("inf")}, ["cpu is inf", "legal is above 0 and finite"]),
    ({"wall": float("inf")}, ["wall is inf", "legal is above 0 and finite"]),
    ({"source": "humaneval", "train": 163}, ["train and test are 163 and 2", "164 together"]),
]


@pytest.mark.parametrize(("options", "words"), REFUSED)
def test_options_out_of_range_are_refused_in_one_line_before_any_work(options, words):
    given = {"train": 2, "test": 2} | options
    for call in (deepcoder.least_turns, lambda **some: tasks(1, **some)):
        with pytest.raises(ValueError, match=words[0].split()[0]) as refusal:
            call(**given)
        said = str(refusal.value)
        assert all(word in said for word in words)
        assert "\n" not in said


def test_an_unknown_or_missing_option_is_named():
    with pytest.raises(TypeError, match="'trains'"):
        check(train=1, test=1, trains=2)
    with pytest.raises(TypeError, match="'test'"):
        check(train=1)


def test_options_are_those_of_tasks():
    taken = {
        name: (one.default, one.annotation)
        for name, one in inspect.signature(tasks).parameters.items()
        if name != "seed"
    }
    known = inspect.signature(Options).parameters
    assert taken == {name: (one.default, one.annotation) for name, one in known.items()}


HELPLESS = """
import sys
sys.executable = "/nowhere/python"  # no rung can start an interpreter
sys.path.insert(0, {source!r})
from turnscope.environments import deepcoder
try:
    deepcoder.tasks(1, train=1, test=1)
except ValueError as refusal:
    print(refusal)
"""


def test_a_machine_without_a_sandbox_is_refused_in_one_line():
    source = str(Path(deepcoder.__file__).parents[3])
    found = subprocess.run(
        [sys.executable, "-c", HELPLESS.format(source=source)],
        env=os.environ | {"PATH": ""},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    (line,) = found.stdout.splitlines()
    assert line.startswith("no sandbox for programs (")
    assert line.endswith("; allow_unsandboxed runs them without isolation")
