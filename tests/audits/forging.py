"""Tamper with results, as clumsily or as thoroughly as is asked for."""

import json
import shutil
from pathlib import Path

from turnscope import provenance, registry, tables
from turnscope.audits import _results
from turnscope.audits._results import Settings

HERE = "frozen_lake/nano"
BASE = f"episodes/{HERE}/base/blind"
GRPO, OTHER, GIGPO = (
    f"episodes/{HERE}/{name}/blind" for name in ("grpo-s0", "grpo-s1", "gigpo-s0")
)
TASKS = "tasks/frozen_lake"
POLICY = f"policies/{HERE}/grpo-s0"
WEIGHTS = f"{POLICY}/model.safetensors"
PASS = f"estimates/{HERE}/pass_at_kt"
POOL = f"matched/{HERE}/grpo-s0"
SCORES = f"likelihood/{HERE}/grpo-s0"
SLOW = ("derive", "replay", "resample")
"""Kinds of audit that look at some artifacts only, if they are told which."""


def findings(results, kinds, jobs, only=(), **settings):
    """Audit everything, or by what takes long the artifacts of some folders or records only."""
    chosen = Settings(planned=jobs, **{"episodes": None, **settings})
    found = []
    for kind in kinds:
        read = _results.read(results)
        if kind in SLOW and only:
            marks = [one if one.endswith(".json") else f"{one}/provenance.json" for one in only]
            own = {f"results/{mark}" for mark in marks}
            own |= {str(one.input("policy")) for one in read.records if one.mark in own}
            read = read.only(own | {f"results/{TASKS}/provenance.json"})
        outcome = registry.load("audits", kind).check(read, chosen)
        found += [(kind, *one) for one in outcome.findings]
    return found


def copy(results: Path, to: Path) -> Path:
    """Copy a folder of results without its content: files are replaced here, never written to."""
    return Path(shutil.copytree(results, to / "results", copy_function=_link))


def _link(source, target):
    Path(target).hardlink_to(source)


def replace(path: Path, content: bytes) -> None:
    """Give a file another content, and leave the file that it was linked to alone."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def record(results: Path, mark: str) -> dict:
    return json.loads((results / mark).read_text())


def write(results: Path, mark: str, content: dict) -> None:
    replace(results / mark, (json.dumps(content, indent=2, sort_keys=True) + "\n").encode())


def rewrite(results: Path, path: str, change) -> None:
    """Change a table: `change` takes its frame, and returns one or changes that."""
    name = Path(path).stem
    if name not in tables.TABLES:
        name = "estimates"
    frame = tables.read(results / path, name)
    changed = change(frame)
    frame = frame if changed is None else changed
    tables.write(tables.conform(frame, name), results / path, name)


def is_read(results: Path, path: str) -> bool:
    """Tell whether any job read a file."""
    records = [json.loads(mark.read_text()) for mark in results.rglob("*provenance.json")]
    return any(file["path"] == f"results/{path}" for one in records for file in one["inputs"])


def seal(results: Path, mark: str) -> None:
    """Make a record agree with itself and with the files beside it: what a naive forger does."""
    content = record(results, mark)
    for file in content["outputs"]:
        path = results.parent / file["path"]
        file["sha256"], file["bytes"] = provenance.file_sha256(path), path.stat().st_size
    inputs = {file["name"]: file["sha256"] for file in content["inputs"]}
    content["spec_sha256"] = provenance.canonical_sha256(content["spec"])
    content["code"] = provenance.canonical_sha256(dict(sorted(content["modules"].items())))[:16]
    content["key"] = provenance.key(content["stage"], content["spec"], content["code"], inputs)
    write(results, mark, content)


def seal_all(results: Path) -> None:
    """Make all records agree with each other and with all files: what a thorough forger does."""
    marks = [path.relative_to(results).as_posix() for path in results.rglob("*provenance.json")]
    makers = {}
    for mark in marks:
        makers[f"results/{mark}"] = mark
        makers |= {file["path"]: mark for file in record(results, mark)["outputs"]}
    done = set()

    def sealed(mark):
        if mark in done:
            return
        done.add(mark)
        content = record(results, mark)
        for file in content["inputs"]:
            sealed(makers[file["path"]])
            file["sha256"] = provenance.file_sha256(results.parent / file["path"])
        write(results, mark, content)
        seal(results, mark)

    for mark in marks:
        sealed(mark)
