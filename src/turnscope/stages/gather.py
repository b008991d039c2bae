"""Put the parts of a set of episodes together, as if one job had played it.

spec: that of stage `sample`, which played the parts.
inputs: `episodes`, `turns` (of every part, in order); and what the parts were made from, which is
recorded here too but not read. outputs: `episodes`, `turns`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from turnscope import tables
from turnscope.schemas import TABLES
from turnscope.stages import _job


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write tables `episodes` and `turns`, one row group at a time."""
    for table in ("episodes", "turns"):
        with tables.writer(outputs[table], table) as append:
            for path in _job.every(inputs, table):
                for rows in _groups(path, table):
                    append(rows)


def _groups(path: Path, table: str) -> Iterator[pa.Table]:
    """Yield the row groups of a table; a batch of episodes is one or more of them.

    Raises:
        ValueError: The file is damaged or not a table of this schema.
    """
    try:
        with pq.ParquetFile(path) as file:
            if not file.schema_arrow.equals(TABLES[table]):
                raise ValueError(f"{path}: not a table of {table}")
            for number in range(file.num_row_groups):
                # In one chunk, as it was written: where pages end depends on it.
                yield file.read_row_group(number).combine_chunks()
    except (pa.ArrowException, OSError) as error:
        what = " ".join(str(error).split())
        raise ValueError(f"{path}: not a readable Parquet file: {what}") from error


if __name__ == "__main__":
    _job.main(run)
