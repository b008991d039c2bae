import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from turnscope import tables
from turnscope.schemas import TABLES
from turnscope.types import Episode, Quality, StopReason, Task, Turn

WHO = {"env": "e", "model": "m", "policy": "base"}
ROW: dict[str, Any] = {**WHO, "step": 1, "name": "loss", "value": 0.5}
TURNS = [
    Turn("a\n√", "k0", "left", 0.0, True, [1, 2], [3], [-0.25]),
    Turn("b", "k1", "", 1.0, False, [], [4, 5], [-1.0, -2.5]),
]
PLAYED = Episode("t0", 2, 7, TURNS, StopReason.SUCCESS, "end", "k2")
BROKEN = Episode("t1", 0, 0, [], StopReason.ERROR, "", "", "OSError: no")


def refused(rows: Any, table: str = "training") -> str:
    with pytest.raises(ValueError, match=table) as caught:
        tables.conform(rows, table)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_an_unknown_column_is_refused_by_name():
    assert "'speed'" in refused([ROW | {"speed": 1}])


def test_a_missing_column_is_refused_by_name():
    assert "step" in refused([{k: v for k, v in ROW.items() if k != "step"}])
    assert "step" in refused([ROW, {k: v for k, v in ROW.items() if k != "step"}])


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA, np.nan])
@pytest.mark.parametrize("column", ["step", "name", "env"])
def test_null_where_it_must_not_be_is_refused_by_name(column, nothing):
    assert column in refused([ROW, ROW | {column: nothing}])


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("step", 1.5),
        ("step", "1"),
        ("step", 2**31),
        ("step", 2**70),
        ("step", [1]),
        ("name", 3),
        ("name", b"\xff"),
        ("name", ["loss"]),
        ("value", "0.5"),
        ("value", [0.5]),
        ("value", {}),
    ],
)
def test_a_value_of_another_kind_is_refused_by_name(column, value):
    assert column in refused([ROW, ROW | {column: value}])


def episode_rows(**changes: Any) -> list[dict[str, Any]]:
    heads, _ = tables.from_episodes(
        [PLAYED], budget=3, told=False, temperature=1.0, quality=None, **WHO
    )
    return [heads.to_pylist()[0] | changes]


@pytest.mark.parametrize("value", ["True", 1, 0.5, 2])
def test_a_truth_value_is_no_number_and_no_text(value):
    assert "success" in refused(episode_rows(success=value), "episodes")
    assert "told" in refused(episode_rows(told=value), "episodes")


@pytest.mark.parametrize("value", [[1, None], [1.5], ["1"], 1])
def test_tokens_are_whole_numbers(value):
    _, turns = tables.from_episodes(
        [PLAYED], budget=3, told=False, temperature=1.0, quality=None, **WHO
    )
    rows = [row | {"action_ids": value} for row in turns.to_pylist()]
    assert "action_ids" in refused(rows, "turns")


@pytest.mark.parametrize("value", [[None], [0.5, None]])
def test_a_log_probability_is_never_null(value):
    _, turns = tables.from_episodes(
        [PLAYED], budget=3, told=False, temperature=1.0, quality=None, **WHO
    )
    rows = [row | {"logprobs": value} for row in turns.to_pylist()]
    assert "logprobs" in refused(rows, "turns")


def test_columns_that_may_be_null_can_be_left_out():
    made = tables.conform([{k: v for k, v in ROW.items() if k != "value"}], "training")
    assert made["value"].to_pylist() == [None]


@pytest.mark.parametrize("table", sorted(TABLES))
@pytest.mark.parametrize("rows", [[], pd.DataFrame()])
def test_no_rows_give_a_table_without_rows(table, rows, tmp_path):
    made = tables.conform(rows, table)
    assert made.num_rows == 0
    tables.write(made, tmp_path / "empty.parquet", table)
    assert list(tables.read(tmp_path / "empty.parquet", table).columns) == TABLES[table].names


def test_a_batch_in_which_every_environment_failed_has_no_turns():
    heads, turns = tables.from_episodes(
        [BROKEN, BROKEN], budget=3, told=False, temperature=1.0, quality=None, **WHO
    )
    assert (heads.num_rows, turns.num_rows) == (2, 0)
    assert heads["success"].to_pylist() == [None, None]


def test_turns_are_graded_and_know_how_their_episode_ended():
    def quality(episode: Episode, number: int) -> Quality | None:
        return Quality(0.25, 0.5) if episode is PLAYED and number == 1 else None

    heads, turns = tables.from_episodes(
        [PLAYED, BROKEN], budget=3, told=False, temperature=0.5, quality=quality, **WHO
    )
    rows = turns.select(["quality", "best", "success", "tokens"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (None, None, True, 1),
        (0.25, 0.5, True, 2),
    ]
    assert heads["seed"].to_pylist() == [7, 0]
    assert heads["temperature"].to_pylist() == [0.5, 0.5]


def test_columns_come_in_declared_order_whatever_the_order_given():
    one = tables.conform([ROW], "training")
    two = tables.conform([dict(reversed(ROW.items()))], "training")
    assert one.equals(two)
    assert one.schema.names == TABLES["training"].names


def test_records_and_frames_give_the_same():
    rows = [ROW, ROW | {"step": 2, "value": None}]
    assert tables.conform(rows, "training").equals(tables.conform(pd.DataFrame(rows), "training"))


def test_what_is_written_is_read_back(tmp_path):
    heads, turns = tables.from_episodes(
        [PLAYED, BROKEN], budget=3, told=True, temperature=1.0, quality=None, **WHO
    )
    tables.write(heads, tmp_path / "e.parquet", "episodes")
    tables.write(turns, tmp_path / "t.parquet", "turns")
    episodes = tables.read(tmp_path / "e.parquet", "episodes")
    assert episodes["success"].dtype == "boolean"
    assert episodes["success"].isna().tolist() == [False, True]
    assert episodes["turns"].tolist() == [2, 0]
    assert episodes["tokens"].tolist() == [3, 0]
    assert episodes["reward"].tolist() == [1.0, 0.0]
    assert episodes["stop"].tolist() == ["success", "error"]
    assert episodes["error"].isna().tolist() == [True, False]
    assert episodes["told"].tolist() == [True, True]
    back = tables.read(tmp_path / "t.parquet", "turns")
    assert back["observation"].tolist() == ["a\n√", "b"]
    assert [ids.tolist() for ids in back["action_ids"]] == [[3], [4, 5]]
    assert [ids.tolist() for ids in back["context_ids"]] == [[1, 2], []]
    assert [scores.tolist() for scores in back["logprobs"]] == [[-0.25], [-1.0, -2.5]]
    assert back["valid"].tolist() == [True, False]


def test_tasks_are_read_back(tmp_path):
    task = Task("t", "test", "4x4", "t", {"map": ["P_", "_G"], "slip": 0.2}, 2)
    unknown = replace(task, task_id="u", min_turns=None)
    rows = [
        {"env": "e", "bound": None}
        | {name: getattr(t, name) for name in ("task_id", "split", "stratum", "cluster")}
        | {"payload": json.dumps(t.payload, sort_keys=True), "min_turns": t.min_turns}
        for t in (task, unknown)
    ]
    tables.write(tables.conform(rows, "tasks"), tmp_path / "tasks.parquet", "tasks")
    read = tables.to_tasks(tables.read(tmp_path / "tasks.parquet", "tasks"))
    assert read == [task, unknown]
    assert type(read[0].min_turns) is int


def test_another_table_is_refused_naming_the_file(tmp_path):
    path = tmp_path / "x.parquet"
    tables.write(tables.conform([ROW], "training"), path, "training")
    with pytest.raises(ValueError, match="not a table of episodes") as caught:
        tables.read(path, "episodes")
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_column_that_became_nullable_is_another_schema(tmp_path):
    path = tmp_path / "x.parquet"
    loose = [field.with_nullable(True) for field in TABLES["training"]]
    pq.write_table(pa.Table.from_pylist([ROW], pa.schema(loose)), path)
    with pytest.raises(ValueError, match="not a table of training"):
        tables.read(path, "training")


def test_a_column_that_does_not_exist_is_refused(tmp_path):
    path = tmp_path / "x.parquet"
    tables.write(tables.conform([ROW], "training"), path, "training")
    assert list(tables.read(path, "training", ["value", "step"]).columns) == ["value", "step"]
    with pytest.raises(ValueError, match="'steps'"):
        tables.read(path, "training", ["steps"])


def test_a_file_cut_short_anywhere_is_refused_naming_it(tmp_path):
    whole = tmp_path / "x.parquet"
    rows = [ROW | {"step": i, "name": f"n{i}", "value": i * 0.1} for i in range(200)]
    tables.write(tables.conform(rows, "training"), whole, "training")
    content = whole.read_bytes()
    cut = tmp_path / "cut.parquet"
    for length in [0, 1, 4, 8, *range(16, len(content), 97), len(content) - 1]:
        cut.write_bytes(content[:length])
        with pytest.raises(ValueError, match=r"cut\.parquet") as caught:
            tables.read(cut, "training")
        assert "\n" not in str(caught.value)


def test_damage_that_is_noticed_is_reported_naming_the_file(tmp_path):
    whole = tmp_path / "x.parquet"
    rows = [ROW | {"step": i, "name": f"n{i}", "value": i * 0.1} for i in range(200)]
    tables.write(tables.conform(rows, "training"), whole, "training")
    content = whole.read_bytes()
    bad = tmp_path / "bad.parquet"
    complaints = []
    for place in range(4, len(content), 53):
        bad.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        try:
            tables.read(bad, "training")
        except ValueError as error:
            complaints.append(str(error))
    assert len(complaints) > 5
    assert all(str(bad) in complaint and "\n" not in complaint for complaint in complaints)


def test_equal_rows_give_equal_bytes(tmp_path):
    rows = [ROW | {"step": i, "value": i * 0.1} for i in range(1000)]
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        tables.write(tables.conform(rows, "training"), tmp_path / name / "x.parquet", "training")
    one, two = ((tmp_path / name / "x.parquet").read_bytes() for name in ("one", "two"))
    assert one == two
    assert str(tmp_path).encode() not in one


def test_parts_are_read_as_one(tmp_path):
    path = tmp_path / "deep" / "x.parquet"
    with tables.writer(path, "training") as append:
        for step in range(5):
            append(tables.conform([ROW | {"step": step}], "training"))
    assert tables.read(path, "training")["step"].tolist() == [0, 1, 2, 3, 4]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def die_while_writing(path: Path) -> None:
    with tables.writer(path, "training") as append:
        append(tables.conform([ROW | {"step": 2}], "training"))
        raise RuntimeError


def test_nothing_is_there_before_the_end(tmp_path):
    path = tmp_path / "x.parquet"
    with tables.writer(path, "training") as append:
        append(tables.conform([ROW], "training"))
        assert not path.exists()
    assert names_in(tmp_path) == ["x.parquet"]


def test_an_exception_leaves_no_file_and_no_draft(tmp_path):
    with pytest.raises(RuntimeError):
        die_while_writing(tmp_path / "x.parquet")
    assert names_in(tmp_path) == []


def test_an_exception_leaves_the_former_file(tmp_path):
    path = tmp_path / "x.parquet"
    tables.write(tables.conform([ROW], "training"), path, "training")
    before = path.read_bytes()
    with pytest.raises(RuntimeError):
        die_while_writing(path)
    assert path.read_bytes() == before
    assert names_in(tmp_path) == ["x.parquet"]


def test_a_writer_refuses_rows_of_another_table(tmp_path):
    path = tmp_path / "x.parquet"
    heads, _ = tables.from_episodes(
        [PLAYED], budget=3, told=False, temperature=1.0, quality=None, **WHO
    )
    with pytest.raises(ValueError, match="not a table of training"):
        tables.write(heads, path, "training")
    assert names_in(tmp_path) == []


def test_reading_several_files_and_none(tmp_path):
    for step in (1, 2):
        made = tables.conform([ROW | {"step": step}], "training")
        tables.write(made, tmp_path / f"{step}.parquet", "training")
    paths = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    assert tables.read_all(paths, "training")["step"].tolist() == [1, 2]
    assert list(tables.read_all(paths, "training", ["step"]).columns) == ["step"]
    assert list(tables.read_all([], "training", ["step"]).columns) == ["step"]
    none = tables.read_all([], "training")
    assert list(none.columns) == TABLES["training"].names
    assert len(none) == 0


def test_every_column_is_explained():
    for name, schema in TABLES.items():
        for field in schema:
            assert field.metadata[b"about"], f"{name}.{field.name}"
