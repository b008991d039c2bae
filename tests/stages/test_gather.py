"""Parts of a set of episodes, played apart and put together."""

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from turnscope import tables
from turnscope.stages import gather, sample, tasks

TASKS = {"train": 0, "test": 9, "sizes": [3, 4], "frozen": 0.8, "slip": 0.2, "distance": 2}
SPEC: dict[str, Any] = {
    "env": "frozen_lake",
    "model": "nano",
    "policy": "base",
    "seed": 1,
    "backend": "transformers",
    "options": {"view": "position"},
    "budget": {"turns": 5, "turn_tokens": 4, "told": True},
    "batch": 8,
    "temperature": 1.0,
    "tasks": None,
    "episodes": 4,
    "turns": [3, 5],
}
KINDS = ("episodes", "turns")


@pytest.fixture
def files(nano_folder, tmp_path):
    """Tasks and a policy."""
    made = {"tasks": tmp_path / "tasks.parquet", "policy": nano_folder / "provenance.json"}
    tasks.run({"env": "frozen_lake", "seed": 1, "tasks": TASKS, "turns": 5}, {}, made)
    return made


def outputs(folder):
    folder.mkdir()
    return {kind: folder / f"{kind}.parquet" for kind in KINDS}


def gathered(parts, to):
    """Put parts together."""
    inputs = {f"{kind}.{at}": part[kind] for kind in KINDS for at, part in enumerate(parts)}
    if len(parts) == 1:
        inputs = parts[0]
    gather.run({}, inputs, outputs(to))
    return [(to / f"{kind}.parquet").read_bytes() for kind in KINDS]


@pytest.mark.parametrize(
    ("batch", "parts"),
    [
        (8, 1),
        (8, 3),  # ten pieces: two budgets, four pieces of two tasks and one of one
        (8, 10),
        (8, 13),  # some are empty
        (6, 4),  # batches that end within tasks
        (5, 2),  # a piece is five tasks of nine
        (4, 2),  # two parts, one for each budget
        (512, 3),  # one batch for each budget
    ],
)
def test_parts_together_are_the_bytes_of_one_job(files, tmp_path, batch, parts):
    spec = SPEC | {"batch": batch}
    whole = outputs(tmp_path / "whole")
    sample.run(spec, files, whole)
    played = []
    for part in range(1, parts + 1):
        played.append(outputs(tmp_path / f"{part}"))
        sample.run({**spec, "part": part, "parts": parts}, files, played[-1])
    sizes = [len(tables.read(one["episodes"], "episodes")) for one in played]
    assert sum(sizes) == 2 * 9 * 4
    assert all(size % 4 == 0 for size in sizes)
    assert len([size for size in sizes if size]) > 1 or parts == 1
    assert gathered(played, tmp_path / "all") == [whole[kind].read_bytes() for kind in KINDS]


def test_a_part_of_some_tasks_is_a_part_of_those(files, tmp_path):
    spec = SPEC | {"tasks": 4, "turns": [5]}
    whole = outputs(tmp_path / "whole")
    sample.run(spec, files, whole)
    played = []
    for part in (1, 2):
        played.append(outputs(tmp_path / f"{part}"))
        sample.run({**spec, "part": part, "parts": 2}, files, played[-1])
    assert gathered(played, tmp_path / "all") == [whole[kind].read_bytes() for kind in KINDS]


def episode(number):
    """A row of `episodes`, of texts that repeat and of texts that do not."""
    return {
        **{"env": "e", "model": "m", "policy": "p", "task_id": f"t{number // 8}"},
        **{"sample": number % 8, "budget": 5, "told": False, "seed": number, "temperature": 1.0},
        **{"turns": number % 5, "tokens": number, "invalid": 0, "reward": number / 7},
        **{"success": None if number % 11 == 0 else number % 3 == 0, "stop": "budget"},
        **{"final_observation": f"at {number}" * (number % 9), "final_state_key": "k"},
        **{"error": f"failed at {number}" if number % 11 == 0 else None},
    }


def test_row_groups_stay_as_they_are_however_large_or_empty(tmp_path):
    # More than a row group holds, none at all, some; and pages of several dictionaries.
    batches = [range(100_000), range(0), range(7, 5_000)]
    tabled = [tables.conform([episode(n) for n in batch], "episodes") for batch in batches]
    none = tables.conform([], "turns")
    whole = outputs(tmp_path / "whole")
    with tables.writer(whole["episodes"], "episodes") as append:
        for rows in tabled:
            append(rows)
    tables.write(none, whole["turns"], "turns")
    played = []
    for name, own in (("first", tabled[:1]), ("second", []), ("third", tabled[1:])):
        played.append(outputs(tmp_path / name))
        with tables.writer(played[-1]["episodes"], "episodes") as append:
            for rows in own:
                append(rows)
        with tables.writer(played[-1]["turns"], "turns") as append:
            if name == "third":
                append(none)
    assert gathered(played, tmp_path / "all") == [whole[kind].read_bytes() for kind in KINDS]
    with pq.ParquetFile(tmp_path / "all/episodes.parquet") as file:
        sizes = [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)]
    assert sizes == [65_536, 34_464, 0, 4_993]


def test_one_row_group_is_held_at_a_time(tmp_path):
    """Memory peaks at what a part of a table takes, however many there are."""
    parts = []
    for number in range(8):
        parts.append(outputs(tmp_path / f"{number}"))
        rows = [episode(at) for at in range(number, 4_000 + number)]
        tables.write(tables.conform(rows, "episodes"), parts[-1]["episodes"], "episodes")
        tables.write(tables.conform([], "turns"), parts[-1]["turns"], "turns")
    usual, peaks = pa.default_memory_pool(), []
    for count in (2, 8):
        pool = pa.proxy_memory_pool(usual)
        pa.set_memory_pool(pool)
        try:
            gathered(parts[:count], tmp_path / f"of-{count}")
        finally:
            pa.set_memory_pool(usual)
        peaks.append(pool.max_memory())
    assert peaks[1] < 1.5 * peaks[0]


def test_what_is_no_table_is_refused_by_name(tmp_path):
    part = outputs(tmp_path / "part")
    tables.write(tables.conform([episode(1)], "episodes"), part["episodes"], "episodes")
    part["turns"].write_bytes(b"no table")
    with pytest.raises(ValueError, match=r"part/turns\.parquet: not a readable Parquet file"):
        gathered([part], tmp_path / "a")
    tables.write(tables.conform([episode(1)], "episodes"), part["turns"], "episodes")
    with pytest.raises(ValueError, match=r"part/turns\.parquet: not a table of turns"):
        gathered([part], tmp_path / "b")
