"""Put the parts of a set of episodes together, as if one job had played it.

spec: that of stage `sample`, which played the parts.
inputs: `episodes`, `turns` (of every part, in order); and what the parts were made from, which is
recorded here too but not read. outputs: `episodes`, `turns`.
"""

from pathlib import Path
from typing import Any

from turnscope import tables
from turnscope.stages import _job


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write tables `episodes` and `turns`, one row group at a time."""
    for table in ("episodes", "turns"):
        with tables.writer(outputs[table], table) as append:
            for path in _job.every(inputs, table):
                for rows in tables.groups(path, table):
                    append(rows)


if __name__ == "__main__":
    _job.main(run)
