import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.environments.deepcoder.rows import CODEFORCES, TACO, TACO_SCRIPT, numbered, parquet
from tests.hub import COMMIT, Hub, reached, serving
from turnscope import registry
from turnscope.environments import bfcl, deepcoder, intercode_sql
from turnscope.environments.bfcl import official
from turnscope.environments.deepcoder import preview
from turnscope.environments.intercode_sql import spider
from turnscope.stages import _job, data

DEAD = "http://127.0.0.1:9"
PREVIEW: dict[str, Any] = {"train": 2, "test": 3, "source": "preview", "revision": COMMIT}
SPIDER: dict[str, Any] = {"train": 1, "test": 1, "source": "spider", "revision": COMMIT}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "client"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("TURNSCOPE_CACHE", str(tmp_path / "cache"))


def run(env: str, tasks: dict[str, Any], folder: Path) -> int:
    """Do the job of rule `data`; return its exit code."""
    outputs = [f"files={folder}/files.json", f"provenance={folder}/provenance.json"]
    spec = json.dumps({"env": env, "tasks": tasks})
    return _job.execute(data.run, "data", ["--spec", spec, "--output", *outputs])


def test_what_is_made_here_needs_nothing():
    for name in registry.names("environments"):
        world = registry.load("environments", name)
        if hasattr(world, "downloads"):
            assert world.downloads(**world.EXAMPLE) == {}


def test_what_comes_from_elsewhere_is_named():
    assert list(deepcoder.downloads(**PREVIEW)) == [preview.DATASET]
    assert list(intercode_sql.downloads(**SPIDER)) == [spider.DATASET, "intercode-bench==0.1.22"]
    assert list(intercode_sql.downloads(**SPIDER, dump="x.sql")) == [spider.DATASET]
    given = {"train": 4, "test": 4, "source": "official"}
    assert list(bfcl.downloads(**given)) == ["bfcl-eval==2026.3.23"]
    with pytest.raises(ValueError, match="revision is 'main'; legal is a commit hash"):
        deepcoder.downloads(**PREVIEW | {"revision": "main"})
    changes: list[dict[str, Any]] = [{"revision": None}, {"source": "list_programs"}]
    for wrong in [PREVIEW | change for change in changes]:
        with pytest.raises(ValueError, match="legal is a commit hash of 40 hex digits with source"):
            deepcoder.least_turns(**wrong)


def test_a_dataset_is_fetched_once_and_tasks_need_no_network(tmp_path, monkeypatch, capsys):
    file = tmp_path / "made.parquet"
    tests = [numbered(CODEFORCES, number) for number in range(3)]
    server = Hub(
        preview.DATASET,
        {
            "codeforces/test-00000-of-00001.parquet": parquet(tests, file),
            "lcbv5/readme.json": b"{}",
            "primeintellect/readme.json": b"{}",
            "taco/train-00000-of-00001.parquet": parquet([TACO, TACO_SCRIPT], file),
        },
    )
    with serving(server):
        reached(server.endpoint, monkeypatch)
        assert run("deepcoder", PREVIEW, tmp_path / "data") == 0
    found = json.loads((tmp_path / "data" / "files.json").read_text())[preview.DATASET]
    (path,) = (tmp_path / "cache" / "deepcoder").glob("*.jsonl")
    assert found == {path.name: hashlib.sha256(path.read_bytes()).hexdigest()}
    reached(DEAD, monkeypatch)
    tasks = deepcoder.tasks(1, **PREVIEW, allow_unsandboxed=True)
    assert [task.split for task in tasks] == ["train"] * 2 + ["test"] * 3
    # Even if the code that converts is another by now: downloads are kept.
    path.unlink()
    assert deepcoder.tasks(1, **PREVIEW, allow_unsandboxed=True) == tasks
    assert run("deepcoder", PREVIEW, tmp_path / "again") == 0
    first, again = (tmp_path / name / "files.json" for name in ("data", "again"))
    assert first.read_bytes() == again.read_bytes()


@pytest.mark.parametrize(("env", "tasks"), [("deepcoder", PREVIEW), ("intercode_sql", SPIDER)])
def test_without_a_network_the_last_line_says_what_to_do(env, tasks, tmp_path, monkeypatch, capsys):
    reached(DEAD, monkeypatch)
    assert run(env, tasks, tmp_path / "data") == 1
    last = capsys.readouterr().err.splitlines()[-1]
    name = {"deepcoder": preview.DATASET, "intercode_sql": spider.DATASET}[env]
    assert f"dataset {name}, revision {COMMIT}, is neither in {tmp_path}/cache/hub/data" in last
    assert f"`hf download --repo-type dataset {name} --revision {COMMIT}`" in last
    assert not (tmp_path / "data" / "provenance.json").exists()


def test_files_of_a_wheel_have_checksums(tmp_path, monkeypatch):
    monkeypatch.delenv("TURNSCOPE_CACHE")  # it is installed for other tests as well
    assert run("bfcl", {"train": 4, "test": 4, "source": "official"}, tmp_path / "data") == 0
    found = json.loads((tmp_path / "data" / "files.json").read_text())["bfcl-eval==2026.3.23"]
    name = "bfcl_eval/data/BFCL_v4_multi_turn_base.json"
    content = (official.folder() / name).read_bytes()
    assert found[name] == hashlib.sha256(content).hexdigest()
