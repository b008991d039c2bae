import hashlib
import io
import json
import threading
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.environments.intercode_sql import real
from tests.hub import COMMIT, Hub
from turnscope.environments.intercode_sql import spider, sqlite
from turnscope.environments.intercode_sql._hardness import hardness
from turnscope.environments.intercode_sql.backends import Limits
from turnscope.environments.intercode_sql.problems import Problem

ROW = {"db": "shop", "query": "How many things?", "gold": "SELECT count(*) FROM t"}


def write(folder: Path, rows) -> tuple[Path, str]:
    path = folder / "questions.json"
    path.write_text(json.dumps(rows))
    return path, hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_is_read(tmp_path: Path):
    rows = [ROW | {"hardness": "extra", "db_tables": {}}, ROW | {"query": "And now?"}]
    one, two = spider.problems(*write(tmp_path, rows))
    digest = hashlib.sha256(b"shop\nHow many things?").hexdigest()[:10]
    assert one == Problem(f"shop-{digest}", ROW["query"], "shop", ROW["gold"], "extra")
    assert two.stratum == "easy"


def test_a_file_with_another_checksum_is_refused(tmp_path: Path):
    path, digest = write(tmp_path, [ROW])
    with pytest.raises(ValueError, match=f"has checksum {digest}; legal is 0000"):
        spider.problems(path, "0000")
    with pytest.raises(ValueError, match="legal is a file that exists"):
        spider.problems(tmp_path / "none.json", digest)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"a": 1}, "holds a dict; legal is a list"),
        ([ROW, 1], "entry 1 of .* lacks one of db, gold, query"),
        ([ROW | {"gold": None}], "entry 0 of .* lacks one of"),
        ([ROW, ROW], "question 'How many things.' is there twice"),
    ],
)
def test_entries_that_are_none_are_refused(rows, message, tmp_path: Path):
    with pytest.raises(ValueError, match=message):
        spider.problems(*write(tmp_path, rows))


@pytest.fixture
def online(monkeypatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)


def test_the_hub_gives_the_same_problems_as_a_file(online, tmp_path: Path):
    def parquet(rows) -> bytes:
        table = pa.Table.from_pylist(
            [{"db_id": row["db"], "query": row["gold"], "question": row["query"]} for row in rows]
        )
        target = io.BytesIO()
        pq.write_table(table, target)
        return target.getvalue()

    server = Hub(
        spider.DATASET,
        {
            "spider/train-00000-of-00001.parquet": parquet([ROW | {"db": "train"}]),
            "spider/validation-00000-of-00001.parquet": parquet([ROW, ROW | {"query": "What?"}]),
        },
    )
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        found = spider.published(COMMIT, tmp_path / "kept", server.endpoint)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert found == spider.problems(*write(tmp_path, [ROW, ROW | {"query": "What?"}]))


def test_a_branch_is_no_revision():
    with pytest.raises(ValueError, match="legal is a commit hash"):
        spider.published("main")


@pytest.mark.parametrize(
    ("query", "level"),
    [
        ("SELECT a FROM t", "easy"),
        ("SELECT a FROM t WHERE b = 'x OR y'", "easy"),
        ("SELECT a, b FROM t", "medium"),
        ("SELECT a FROM t JOIN u ON t.i = u.i WHERE b = 1", "medium"),
        ("SELECT count(*), max(a), b FROM t WHERE c = 1 AND d = 2 GROUP BY e, f", "hard"),
        ("SELECT a FROM t WHERE b BETWEEN 1 AND 2", "easy"),
        ("SELECT a FROM t WHERE b = (SELECT max(b) FROM t)", "hard"),
        ("SELECT a FROM t UNION SELECT a FROM u", "hard"),
        ("SELECT count(*) FROM (SELECT a FROM t)", "easy"),
        ("SELECT a, b FROM t WHERE c LIKE 'x' OR d = 1 ORDER BY e LIMIT 1", "extra"),
        ("SELECT a FROM t WHERE b = 1 GROUP BY a ORDER BY a", "hard"),
    ],
)
def test_hardness_follows_from_the_parts_of_a_query(query, level):
    assert hardness(query) == level


def test_hardness_is_the_published_one_for_nearly_all_questions():
    apart = [one for one in real.problems() if hardness(one.gold) != one.stratum]
    assert len(apart) == 2  # one query, asked for in two ways


def some(sizes: list[int]) -> list[Problem]:
    return [
        Problem(f"{place}-{number}", "?", f"d{place}", "SELECT 1", "easy")
        for place, size in enumerate(sizes)
        for number in range(size)
    ]


@given(
    st.lists(st.integers(1, 30), min_size=4, max_size=12),
    st.integers(0, 2**32),
    st.floats(0, 0.4),
    st.floats(0, 0.4),
)
def test_splits_share_no_database(sizes, seed, train, test):
    found = some(sizes)
    wanted = int(train * len(found)), int(test * len(found))
    try:
        splits = spider.split(found, seed, *wanted)
    except ValueError:
        return
    assert tuple(map(len, splits)) == wanted
    assert all(len({*part}) == len(part) and {*part} <= {*found} for part in splits)
    bases = [{problem.database for problem in part} for part in splits]
    assert not bases[0] & bases[1]
    assert spider.split(found[::-1], seed, *wanted) == splits


def test_another_seed_gives_another_split():
    found = some([10] * 10)
    assert spider.split(found, 0, 40, 40) != spider.split(found, 1, 40, 40)


def test_databases_are_shared_out_in_proportion():
    train, test = spider.split(some([10] * 20), 3, 100, 50)
    assert len({problem.database for problem in train}) == 13
    assert len({problem.database for problem in test}) == 7


def test_too_many_are_refused():
    with pytest.raises(ValueError, match="train and test are 20 and 20; legal are fewer"):
        spider.split(some([30, 5]), 0, 20, 20)
    assert len(spider.split(some([30, 5]), 0, 20, 5)[0]) == 20


def test_problems_without_an_answer_can_be_left_out(caplog):
    backend = sqlite.Backend({"d": "CREATE TABLE t (a);"}, Limits())
    one = Problem("one", "?", "d", "SELECT count(*) FROM t", "easy")
    none = one._replace(name="none", gold="SELECT a FROM t")
    zero = one._replace(name="zero", gold="SELECT count(a) FROM t UNION SELECT NULL")
    some = one._replace(name="some", gold="SELECT 1")
    bad = one._replace(name="bad", gold="SELECT a FROM u")
    found = [none, one, zero, some, bad]
    assert spider.answerable(found, backend, trivial=True) == [none, one, zero, some]
    assert "bad is left out: its gold query fails: no such table: u" in caplog.text
    assert spider.answerable(found, backend, trivial=False) == [some]


def test_the_real_questions_and_those_with_an_answer():
    found = real.problems()
    assert len(found) == len({problem.name for problem in found}) == 1034
    assert Counter(problem.stratum for problem in found) == {
        "easy": 248,
        "medium": 446,
        "hard": 174,
        "extra": 166,
    }
    backend = sqlite.Backend(real.scripts(), Limits())
    assert spider.answerable(found, backend, trivial=True) == found
    kept = spider.answerable(found, backend, trivial=False)
    assert len(kept) == 1034 - 91 - 48
    assert Counter(one.database for one in found)["wta_1"] == 62
    assert Counter(one.database for one in kept)["wta_1"] == 0
    for seed in range(5):
        train, test = spider.split(kept, seed, 500, 300)
        assert (len(train), len(test)) == (500, 300)


def test_the_wheel_has_twenty_databases():
    assert len(real.scripts()) == 20
