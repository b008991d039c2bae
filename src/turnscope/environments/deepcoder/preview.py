"""The problems of DeepCoder-Preview as a file of problems.

`python -m turnscope.environments.deepcoder.preview --output problems.jsonl` downloads the dataset
and converts it. A row becomes a problem with a few of its tests. Files are read a few rows at a
time, for the tests of a single problem may take 100 MB.

Source:
    agentica-org/DeepCoder-Preview-Dataset on the Hugging Face hub, MIT license.
    Differs: a problem has at most 3 public and 15 private tests; train problems that share a
    statement, a solution or three tests with a test problem are left out.
"""

import argparse
import functools
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from turnscope import hub, provenance, wheels
from turnscope.environments.deepcoder._layout import normalise, tests_of
from turnscope.environments.deepcoder._twins import Barred
from turnscope.environments.deepcoder.problems import Problem, write
from turnscope.provenance import file_sha256

__all__ = ["convert", "main", "normalise", "rows", "tests_of"]

DATASET = "agentica-org/DeepCoder-Preview-Dataset"
REVISION = "177913a7bd43791646ef6a43645caa3c871ab3db"
CONFIGS = ("codeforces", "lcbv5", "primeintellect", "taco")
ROWS = 4
"""Rows in memory at a time."""
COLUMNS = ("problem", "tests", "starter_code", "metadata", "solutions")


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Read the rows of a Parquet file, a few at a time."""
    import pyarrow.parquet as pq

    # A buffer, so that a row group is read in pieces.
    with pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20) as file:
        columns = [name for name in COLUMNS if name in file.schema_arrow.names]
        for batch in file.iter_batches(batch_size=ROWS, columns=columns, use_threads=False):
            for i in range(batch.num_rows):
                yield batch.slice(i, 1).to_pylist()[0]


def convert(
    output: Path,
    *,
    revision: str = REVISION,
    configs: Sequence[str] = CONFIGS,
    most: int | None = None,
    downloads: Path | None = None,
    endpoint: str | None = None,
) -> dict[str, Any]:
    """Download and convert the dataset; both files appear only when all is done.

    Args:
        output: File of problems to write; `NAME.manifest.json` is written beside it.
        revision: A full commit hash.
        configs: Parts to convert. Train problems are compared with the test problems of these.
        most: Most problems of each part and split; None is all.
        downloads: Where downloads are kept; None is `downloads` beside the output.
        endpoint: Address of the hub; None is `HF_ENDPOINT` or the public one.

    Returns:
        The manifest: revision, files with checksums, and how many rows were kept or left out, and
        why.

    Raises:
        ValueError: An argument is not legal, there is nothing to convert, or a file is corrupt.
    """
    repository = hub.Repository(DATASET, revision, endpoint=endpoint)
    folder = downloads or output.parent / "downloads"
    files = _files(repository, configs, most, folder)
    output.parent.mkdir(parents=True, exist_ok=True)
    counts: dict[str, Counter[str]] = {}
    used: list[hub.File] = []
    fetch = functools.partial(hub.fetch, repository, folder=folder)
    number = write(_problems(files, fetch, most, counts, used), output)
    manifest = {
        "dataset": DATASET,
        "revision": revision,
        "configs": sorted(set(configs)),
        "most": most,
        "files": [file._asdict() for file in sorted(used)],
        "counts": {part: dict(sorted(reasons.items())) for part, reasons in counts.items()},
        "problems": number,
        "sha256": file_sha256(output),
    }
    provenance.write_json(manifest, output.with_suffix(".manifest.json"))
    return manifest


def published(revision: str) -> Path:
    """Return the whole dataset as a file of problems, which is made at first use.

    It lies in the cache, see `wheels.cache`, under the names of the revision and of this code.

    Args:
        revision: A full commit hash.

    Raises:
        ValueError: The revision is no commit hash, or a file is corrupt.
        RuntimeError: Files are not here, and the hub is out of reach; says what to do.
    """
    code = provenance.digest(["environments.deepcoder.preview"])
    path = wheels.cache() / "deepcoder" / f"{revision}-{code}.jsonl"
    if not path.is_file():
        repository = hub.Repository(DATASET, revision)
        with hub.explained(repository):
            convert(path, revision=revision, downloads=hub.place(repository))
    return path


def _files(
    repository: hub.Repository, configs: Sequence[str], most: int | None, folder: Path
) -> list[hub.File]:
    """Check what is asked for, and list the files of it."""
    unknown = sorted(set(configs) - set(CONFIGS))
    if unknown or not configs:
        raise ValueError(f"unknown config {unknown}; known: {', '.join(CONFIGS)}")
    if most is not None and most < 1:
        raise ValueError(f"most is {most}; legal is at least 1")
    listed = hub.listed(repository, sorted(set(configs)), folder)
    files = [file for file in listed if file.path.endswith(".parquet")]
    if not files:
        raise ValueError(
            f"revision {repository.revision} has no Parquet files of {', '.join(configs)}"
        )
    return files


def _problems(
    files: Sequence[hub.File],
    fetch: Callable[[hub.File], Path],
    most: int | None,
    counts: dict[str, Counter[str]],
    used: list[hub.File],
) -> Iterator[Problem]:
    """Fetch and read files one by one; fills `counts` by config and split, and `used`."""
    barred = Barred()
    # Test files first, for they say which train problems are left out.
    for file in sorted(files, key=lambda file: (_part(file)[1] != "test", file.path)):
        config, split = _part(file)
        reasons = counts.setdefault(f"{config}/{split}", Counter())
        if most is not None and reasons["kept"] >= most:
            continue
        path = fetch(file)
        used.append(file)
        for record in rows(path):
            problem = normalise(record, config, split, reasons.total(), reasons, barred)
            if problem is not None:
                yield problem
            if most is not None and reasons["kept"] >= most:
                break


def _part(file: hub.File) -> tuple[str, str]:
    """Return config and split of a file such as `taco/train-00000-of-00004.parquet`."""
    config, _, name = file.path.partition("/")
    return config, name.partition("-")[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Convert, say what came of it, and return the exit code."""
    import httpx  # it comes with huggingface_hub

    parser = argparse.ArgumentParser(prog="python -m turnscope.environments.deepcoder.preview")
    parser.add_argument("--output", type=Path, required=True, help="file of problems to write")
    parser.add_argument("--revision", default=REVISION, help="commit of the dataset")
    parser.add_argument("--configs", nargs="+", default=list(CONFIGS), choices=CONFIGS)
    parser.add_argument("--most", type=int, help="most problems of each config and split")
    parser.add_argument("--downloads", type=Path, help="where downloads are kept")
    given = parser.parse_args(arguments)
    try:
        manifest = convert(**vars(given))
    except (ValueError, OSError, httpx.HTTPError) as fault:
        said = " ".join(str(fault).split())
        print(f"{said} ({type(fault).__name__})", file=sys.stderr)  # noqa: T201
        return 1
    said = {"problems": manifest["problems"], **manifest["counts"]}
    print(json.dumps(said, indent=2))  # noqa: T201 - this is a command
    return 0


if __name__ == "__main__":
    sys.exit(main())
