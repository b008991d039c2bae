"""The only code that reads or writes the Parquet tables of the study, see `turnscope.schemas`.

Equal runs give equal bytes: no clock, host or path is stored.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from turnscope.atomic import replacing
from turnscope.schemas import TABLES, TURNS
from turnscope.types import Episode, Quality, Task

ROWS_PER_GROUP = 1 << 16


def conform(rows: pd.DataFrame | list[dict[str, Any]], table: str) -> pa.Table:
    """Turn rows into a table of the declared schema.

    Args:
        rows: A frame or a list of records; columns that may be null can be left out.
        table: A key of `TABLES`.

    Returns:
        The table, columns in declared order.

    Raises:
        ValueError: A column is unknown, missing, ill-typed, or null where it must not be.
    """
    schema = TABLES[table]
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows, dtype=object)
    unknown = sorted(set(frame.columns) - set(schema.names))
    if unknown:
        raise ValueError(f"table {table}: unknown columns {unknown}; known: {schema.names}")
    if frame.empty and not len(frame.columns):
        return schema.empty_table()
    arrays = []
    for declared in schema:
        if declared.name in frame.columns:
            try:
                array = _array(frame[declared.name], declared.type)
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
                raise ValueError(f"table {table}, column {declared.name}: {error}") from error
        elif declared.nullable:
            array = pa.nulls(len(frame), declared.type)
        else:
            raise ValueError(f"table {table}: column {declared.name} is missing")
        if array.null_count and not declared.nullable:
            raise ValueError(f"table {table}, column {declared.name}: {array.null_count} nulls")
        arrays.append(array)
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(values: pd.Series, kind: pa.DataType) -> pa.Array:
    """Convert a column, without loss.

    Raises:
        pa.ArrowInvalid: A value is of another kind, or an entry of a list is null.
    """
    array = pa.Array.from_pandas(values, type=kind)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    inner = kind.value_type if pa.types.is_list(kind) else kind
    if pa.types.is_unsigned_integer(inner) and not all(isinstance(one, int) for one in values):
        raise pa.ArrowInvalid("a value is no integer")
    if pa.types.is_signed_integer(inner) and values.dtype == object:
        # Arrow cuts off the fraction of Python's numbers; as numbers of their own kind it does not
        natural = pa.Array.from_pandas(values)
        parts = natural.flatten() if pa.types.is_list(natural.type) else natural
        if pa.types.is_floating(parts.type):
            parts.cast(inner)
    if pa.types.is_list(kind) and array.flatten().null_count:
        raise pa.ArrowInvalid("a list has a null entry")
    return array


@contextmanager
def writer(path: Path, table: str) -> Iterator[Callable[[pa.Table], None]]:
    """Write a table in parts, so that memory holds one at a time.

    Args:
        path: Parquet file; replaced at once at the end, or not at all.
        table: A key of `TABLES`.

    Yields:
        A function that appends a result of `conform` and refuses any other schema.
    """
    schema = TABLES[table].with_metadata({"turnscope.table": table})

    def append(part: pa.Table) -> None:
        if not part.schema.equals(schema):
            raise ValueError(f"{path}: not a table of {table}")
        file.write_table(part.replace_schema_metadata(schema.metadata), ROWS_PER_GROUP)

    with replacing(path) as draft, pq.ParquetWriter(draft, schema, compression="zstd") as file:
        yield append


def write(rows: pa.Table, path: Path, table: str) -> None:
    """Write a result of `conform`; the file is replaced at once or not at all."""
    with writer(path, table) as append:
        append(rows)


@contextmanager
def opened(path: Path, table: str) -> Iterator[pq.ParquetFile]:
    """Open a table, and say in one line if it is none, also when it is found while it is read."""
    try:
        with pq.ParquetFile(path) as file:
            if not file.schema_arrow.equals(TABLES[table]):
                raise ValueError(
                    f"{path}: not a table of {table}; was it written by another version?"
                )
            yield file
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        what = " ".join(str(error).split())
        raise ValueError(
            f"{path}: not a readable Parquet file: {what}; if a job wrote it, remove it, and the "
            "job makes it anew"
        ) from error


def groups(path: Path, table: str) -> Iterator[pa.Table]:
    """Yield the row groups of a table as they were written, for tables too long for memory.

    Args:
        path: Parquet file.
        table: A key of `TABLES`.

    Raises:
        ValueError: The file is damaged or not a table of this schema.
    """
    with opened(path, table) as file:
        for number in range(file.num_row_groups):
            # In one chunk, as it was written: where pages end depends on it.
            yield _whole(file.read_row_group(number)).combine_chunks()


def _whole(content: pa.Table) -> pa.Table:
    """Refuse texts that are no UTF-8, which would otherwise be found when one is looked at."""
    content.validate(full=True)
    return content


def read(path: Path, table: str, columns: list[str] | None = None) -> pd.DataFrame:
    """Read a table as a frame.

    Args:
        path: Parquet file.
        table: A key of `TABLES`.
        columns: Which columns; all by default.

    Returns:
        One row for each row of the table; integers and booleans that may be
        null come as pandas' nullable kinds.

    Raises:
        ValueError: The file is damaged or not a table of this schema, or there is no such column.
    """
    schema = TABLES[table]
    unknown = sorted(set(columns or ()) - set(schema.names))
    if unknown:
        raise ValueError(f"table {table}: unknown columns {unknown}; known: {schema.names}")
    with opened(path, table) as file:
        content = _whole(file.read(columns=columns))
        frame = content.to_pandas()
        kinds = {pa.int32(): pd.Int32Dtype(), pa.bool_(): pd.BooleanDtype()}
        for field in content.schema:
            if field.nullable and field.type in kinds:
                frame[field.name] = content[field.name].to_pandas(types_mapper=kinds.get)
    return frame


def read_all(paths: Iterable[Path], table: str, columns: list[str] | None = None) -> pd.DataFrame:
    """Read several files of one table as one frame; no file gives a frame without rows."""
    frames = [read(path, table, columns) for path in paths]
    if not frames:
        return TABLES[table].empty_table().select(columns or TABLES[table].names).to_pandas()
    return pd.concat(frames, ignore_index=True)


def from_episodes(
    episodes: Iterable[Episode],
    *,
    budget: int,
    told: bool,
    temperature: float,
    quality: Callable[[Episode, int], Quality | None] | None = None,
    **who: str,
) -> tuple[pa.Table, pa.Table]:
    """Lay episodes out as rows.

    Args:
        episodes: What a rollout returned.
        budget: T under which they were played, turns.
        told: Whether the policy was shown the turns left.
        temperature: At which it sampled.
        quality: Says how good the action of a turn was, given the number of the turn.
        who: `env`, `model` and `policy`.

    Returns:
        Tables of `episodes` and `turns`.
    """
    heads, turns = [], []
    for episode in episodes:
        key = who | {"task_id": episode.task_id, "sample": episode.sample}
        heads.append(
            key
            | {
                "budget": budget,
                "told": told,
                "seed": episode.seed,
                "temperature": temperature,
                "turns": len(episode.turns),
                "tokens": episode.tokens,
                "invalid": sum(not turn.valid for turn in episode.turns),
                "reward": float(sum(turn.reward for turn in episode.turns)),
                "success": episode.success,
                "stop": str(episode.stop),
                "final_observation": episode.final_observation,
                "final_state_key": episode.final_state_key,
                "error": episode.error,
            }
        )
        turns += [
            key | _turn(episode, number, quality and quality(episode, number))
            for number in range(len(episode.turns))
        ]
    return conform(heads, "episodes"), conform(turns, "turns")


def _turn(episode: Episode, number: int, graded: Quality | None) -> dict[str, Any]:
    """Lay a turn out, without the names of its episode."""
    turn = episode.turns[number]
    return {name: getattr(turn, name) for name in TURNS.names if hasattr(turn, name)} | {
        "turn": number,
        "quality": graded.value if graded else None,
        "best": graded.best if graded else None,
        "success": episode.success,
        "tokens": len(turn.action_ids),
    }


def tasks(path: Path, split: str) -> list[Task]:
    """Read one split of table `tasks`."""
    return [task for task in to_tasks(read(path, "tasks")) if task.split == split]


def to_tasks(frame: pd.DataFrame) -> list[Task]:
    """Read rows of `tasks` back as tasks."""
    return [
        Task(
            row["task_id"],
            row["split"],
            row["stratum"],
            row["cluster"],
            json.loads(row["payload"]),
            None if pd.isna(row["min_turns"]) else int(row["min_turns"]),
        )
        for row in frame.to_dict("records")
    ]
