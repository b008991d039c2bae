import hashlib
import re
from typing import Any

import pytest

from tests.environments.intercode_sql import real
from turnscope.environments import intercode_sql
from turnscope.environments.intercode_sql import sources

COMMIT = "0" * 40


def spider_tasks(train: int = 500, test: int = 300, **options) -> list:
    real.scripts()
    path = str(real.questions())
    more: dict[str, Any] = {"source": "spider", "path": path, "sha256": real.SHA256} | options
    return intercode_sql.tasks(5, train=train, test=test, **more)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": "a"}, "path is 'a'; legal is one with source 'spider', else nothing"),
        ({"dump": "a"}, "dump is 'a'; legal is one with source 'spider', else nothing"),
        ({"backend": "server"}, "backend is 'server'; legal with shops is 'sqlite'"),
        ({"source": "spider"}, "path is None and revision None; legal with source 'spider' is one"),
        (
            {"source": "spider", "path": "a", "revision": COMMIT},
            f"path is 'a' and revision '{COMMIT}'; legal",
        ),
        ({"source": "spider", "path": "a"}, "sha256 is None; legal is the checksum of a"),
        ({"source": "spider", "revision": "main"}, "revision is 'main'; legal is a commit hash"),
        (
            {"source": "spider", "revision": COMMIT, "backend": "server"},
            "address is None; legal is where a server is with backend 'server'",
        ),
        ({"address": "/a"}, "address is '/a'; legal is where a server is"),
    ],
)
def test_options_of_one_source_are_refused_with_another(options, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        intercode_sql.least_turns(train=1, test=1, **options)


def test_tasks_of_spider_share_no_database_between_splits():
    tasks = spider_tasks()
    databases = {
        split: {one.payload["database"] for one in tasks if one.split == split}
        for split in ("train", "test")
    }
    assert databases["train"]
    assert databases["test"]
    assert not databases["train"] & databases["test"]
    assert {one.stratum for one in tasks} == {"easy", "medium", "hard", "extra"}
    assert tasks == spider_tasks()
    # Fewer than 30 sources are no clusters.
    assert all(one.cluster == one.task_id for one in tasks)


@pytest.mark.parametrize("protocol", ["submit", "auto"])
def test_every_gold_query_of_spider_succeeds(protocol):
    tasks = spider_tasks(0, 1034, protocol=protocol, exclude_trivial=False)
    environment = intercode_sql.Environment(view="full")
    for task in tasks:
        environment.reset(task, 0)
        steps = [environment.step(action) for action in intercode_sql.gold(task, 0)]
        assert len(steps) == task.min_turns
        assert steps[-1].success, task.task_id


def test_a_changed_file_is_refused(tmp_path):
    path = tmp_path / "questions.json"
    path.write_text("[]")
    with pytest.raises(ValueError, match="has checksum"):
        intercode_sql.tasks(1, train=0, test=1, source="spider", path=str(path), sha256=real.SHA256)


def test_a_dump_of_ones_own(tmp_path):
    questions, dump = tmp_path / "questions.json", tmp_path / "dump.sql"
    questions.write_text('[{"db": "d", "query": "Which a?", "gold": "SELECT a FROM t"}]')
    dump.write_text("USE `d`; CREATE TABLE `t` (`a` int); INSERT INTO `t` VALUES (7);")
    (task,) = intercode_sql.tasks(
        1,
        train=0,
        test=1,
        source="spider",
        path=str(questions),
        sha256=hashlib.sha256(questions.read_bytes()).hexdigest(),
        dump=str(dump),
    )
    environment = intercode_sql.Environment()
    assert environment.reset(task, 0) == "Which a?"
    assert environment.step("SELECT 7").observation == "7"
    assert environment.step("submit").success
    assert any(str(dump) in line for line in intercode_sql.facts()["databases"])
    dump.write_text("USE `d`; CREATE TABLE `t` (`a` int);")
    sources._connected.cache_clear()
    with pytest.raises(ValueError, match="has checksum"):
        sources.backend(task.payload)
