"""The questions of Spider's development set, and their 20 databases.

Source:
    Yu et al. 2018, arXiv:1809.08887, CC BY-SA 4.0: the questions, from a file of InterCode (Yang et
    al. 2023, MIT) or from `xlangai/spider` on the Hugging Face hub. The databases are those that
    InterCode ships, in the wheel `intercode-bench`.
"""

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from turnscope import draws, hub, wheels
from turnscope.environments.intercode_sql import dump
from turnscope.environments.intercode_sql._hardness import hardness
from turnscope.environments.intercode_sql.backends import Backend
from turnscope.environments.intercode_sql.problems import Problem
from turnscope.provenance import file_sha256

WHEEL = (
    "intercode-bench==0.1.22"
    " --hash=sha256:3cecd6796bdb70276a5915ca1db725b5e419291638a34383b16747530d95b8cc"
)
DUMP = "intercode/assets/datasets/spider_dev.sql"
"""The dump within the wheel."""
DATASET = "xlangai/spider"
FOLDER, PART = "spider", "validation"
"""Folder of the dataset, and how the names of the files of the development set start."""
log = logging.getLogger(__name__)

ATTEMPTS = 100
"""Orders of databases that are tried for a split."""
FIELDS = {"db": "database", "gold": "gold", "query": "question"}


def problems(path: str | Path, sha256: str) -> list[Problem]:
    """Read the file of InterCode.

    Args:
        path: `ic_spider_dev.json`, a list of objects with `db`, `query` (the question), `gold` and
            perhaps `hardness`.
        sha256: Its checksum.

    Returns:
        In the order of the file.

    Raises:
        ValueError: There is no such file, it has another checksum, or an entry is none.
    """
    if not Path(path).is_file():
        raise ValueError(f"path is {str(path)!r}; legal is a file that exists")
    if (found := file_sha256(Path(path))) != sha256:
        raise ValueError(f"{path} has checksum {found}; legal is {sha256}")
    rows = json.loads(Path(path).read_text(encoding="utf-8"))
    if not isinstance(rows, list):
        raise ValueError(f"{path} holds a {type(rows).__name__}; legal is a list")
    return _unique([_problem(row, number, str(path)) for number, row in enumerate(rows)])


def published(
    revision: str, downloads: Path | None = None, endpoint: str | None = None
) -> list[Problem]:
    """Download the development set from the hub.

    Args:
        revision: A full commit hash of the dataset.
        downloads: Where files are kept; None is in the cache, see `hub.collect`.
        endpoint: Address of the hub; None is `HF_ENDPOINT` or the public one.

    Returns:
        In the order of the dataset. Of how hard they are Spider's rules say, see `_hardness`.

    Raises:
        ValueError: The revision is no commit hash, or a file is not what the hub says.
        RuntimeError: The files are not here, and the hub is out of reach.
    """
    import pyarrow.parquet as pq

    found = []
    for path in files(revision, downloads, endpoint):
        table = pq.read_table(path, columns=["db_id", "query", "question"])
        found += table.to_pylist()
    rows = [{"db": row["db_id"], "gold": row["query"], "query": row["question"]} for row in found]
    return _unique([_problem(row, number, DATASET) for number, row in enumerate(rows)])


def files(revision: str, downloads: Path | None = None, endpoint: str | None = None) -> list[Path]:
    """Download the files of the development set; see `published`."""
    repository = hub.Repository(DATASET, revision, endpoint=endpoint)
    return [*hub.collect(repository, _wanted, [FOLDER], downloads).values()]


def _wanted(path: str) -> bool:
    return Path(path).name.startswith(PART) and path.endswith(".parquet")


def _problem(row: Any, number: int, source: str) -> Problem:
    if not isinstance(row, dict) or not all(isinstance(row.get(key), str) for key in FIELDS):
        raise ValueError(f"entry {number} of {source} lacks one of {', '.join(FIELDS)} as a text")
    texts = {to: row[key] for key, to in FIELDS.items()}
    # By its content, so that it is called the same wherever it comes from.
    digest = hashlib.sha256(f"{row['db']}\n{row['query']}".encode()).hexdigest()[:10]
    stratum = row.get("hardness") or hardness(row["gold"])
    return Problem(name=f"{row['db']}-{digest}", stratum=str(stratum), **texts)


def _unique(found: list[Problem]) -> list[Problem]:
    """Refuse a question that is there twice."""
    number = Counter(problem.name for problem in found)
    for problem in found:
        if number[problem.name] > 1:
            raise ValueError(f"question {problem.question!r} is there twice; legal is once")
    return found


def scripts(path: str | Path | None = None) -> dict[str, str]:
    """Convert the databases, see `dump.scripts`.

    Args:
        path: A dump; None is the one in the wheel, which is installed in a place of its own at
            first use.

    Raises:
        ValueError: The file is no dump.
        RuntimeError: The wheel could not be installed.
        OSError: The file cannot be read.
    """
    file = wheels.folder([WHEEL]) / DUMP if path is None else Path(path)
    return dump.scripts(file.read_text(encoding="utf-8"))


def answerable(found: Sequence[Problem], backend: Backend, trivial: bool) -> list[Problem]:
    """Leave out problems whose gold query does not run, and trivial ones unless they are wanted.

    Args:
        found: Problems.
        backend: Where they are to be played.
        trivial: Whether to keep those whose answer is guessed without a look: no row at all, which
            every empty result equals, or nothing but 0 and NULL.
    """
    kept = []
    for problem in found:
        session = backend.begin(problem.database)
        result = session.run(problem.gold)
        session.close()
        if result.error:
            log.warning("%s is left out: its gold query fails: %s", problem.name, result.error)
        elif trivial or any(value not in (0, None) for row in result.rows for value in row):
            kept.append(problem)
    return kept


def split(
    found: Sequence[Problem], seed: int, train: int, test: int
) -> tuple[list[Problem], list[Problem]]:
    """Choose problems, so that no database is in both splits.

    The databases are shared out in a drawn order, each to the split that has the smaller part of
    the problems that it is to have. If one gets too few, another order is drawn. Of what a split
    got, problems are drawn.

    Args:
        found: Problems to choose from.
        seed: Names the draws.
        train: Number of train problems.
        test: Number of test problems.

    Returns:
        Train problems and test problems.

    Raises:
        ValueError: The databases cannot be shared out like that.
    """
    wanted = {"test": test, "train": train}
    for attempt in range(ATTEMPTS):
        given = _shared_out(found, wanted, _random(seed, f"databases {attempt}"))
        if all(len(given[name]) >= number for name, number in wanted.items()):
            break
    else:
        raise ValueError(
            f"train and test are {train} and {test}; legal are fewer, as {len(found)} problems "
            "can be shared out so that no database is in both"
        )
    chosen = {}
    for name, number in wanted.items():
        fitting = sorted(given[name])
        drawn = _random(seed, name).permutation(len(fitting))[:number]
        chosen[name] = [fitting[place] for place in drawn]
    return chosen["train"], chosen["test"]


def _shared_out(
    found: Sequence[Problem], wanted: dict[str, int], random: np.random.Generator
) -> dict[str, list[Problem]]:
    """Give each database to a split, in a drawn order."""
    by_database: dict[str, list[Problem]] = {}
    for problem in found:
        by_database.setdefault(problem.database, []).append(problem)
    names = sorted(by_database)
    given: dict[str, list[Problem]] = {name: [] for name in wanted}
    lacking = [name for name, number in wanted.items() if number]
    for place in random.permutation(len(names)) if lacking else ():
        poorest = min(lacking, key=lambda name: len(given[name]) / wanted[name])
        given[poorest] += by_database[names[place]]
    return given


def _random(seed: int, name: str) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(draws.seed(seed, "spider", name)))
