"""Every file that a record speaks for is there and has its checksum; tables have their schema."""

import os
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from turnscope import provenance, tables
from turnscope.audits import _weights
from turnscope.audits._records import File
from turnscope.audits._results import Finding, Outcome, Record, Results, Settings, each
from turnscope.records import DIARY, HOME, MARK, files
from turnscope.schemas import TABLES

ASIDE = ("archive", "audits", "benchmarks", "logs", "plan")
"""Folders of what is said about jobs, not made by them."""
NOTES = ("MANIFEST.sha256", "README.md")
RUN = (".bin", ".pickle", ".pkl", ".pt", ".pth", ".py", ".pyc", ".so")
"""Ends of names of files that can hold code for who loads them; no stage writes any."""


def check(results: Results, settings: Settings) -> Outcome:
    """Compare files with the records that speak for them, and records with themselves."""
    found = list(results.unreadable)
    found += each(results.records, _sealed)
    found += each(results.records, lambda record: _files(results, record))
    found += each(results.records, lambda record: _formats(results, record))
    if not settings.part:
        found += _strangers(results)
    return Outcome(sum(1 + len(record.outputs) for record in results.records), "files", found)


def _sealed(record: Record) -> Iterator[Finding]:
    """Recompute the digests that a record holds of itself."""
    content = record.content
    inputs = {file.name: file.sha256 for file in record.inputs}
    expected = {
        "schema": provenance.SCHEMA,
        "spec_sha256": provenance.canonical_sha256(record.spec),
        "code": provenance.canonical_sha256(dict(sorted(record.modules.items())))[:16],
        "key": provenance.key(record.stage, record.spec, content["code"], inputs),
    }
    for name, value in expected.items():
        if content.get(name) != value:
            yield Finding(
                "record", record.mark, f"{name} is {content.get(name)!r}, must be {value!r}"
            )
    names = [file.name for file in record.outputs]
    if len(set(names)) < len(names):
        yield Finding("record", record.mark, "two outputs have one name")
    if not names:
        yield Finding("record", record.mark, "it speaks for no file")


def _files(results: Results, record: Record) -> Iterator[Finding]:
    sizes: dict[str, Any] = {one["path"]: one.get("bytes") for one in record.content["outputs"]}
    for file in record.outputs:
        place = results.place(file.path)
        if results.gone(file.path):
            continue
        if not os.path.lexists(place):
            yield Finding("missing", file.path, f"{record.mark} speaks for it")
        elif (found := results.sha256(file.path)) is None:
            yield Finding("unreadable", file.path, "it is a link, or cannot be read as a file")
        elif found != file.sha256:
            detail = f"sha256 is {found[:16]}..., recorded was {file.sha256[:16]}..."
            yield Finding("checksum", file.path, detail)
        elif place.stat().st_size != sizes[file.path]:
            detail = f"{place.stat().st_size} bytes, recorded were {sizes[file.path]}"
            yield Finding("checksum", file.path, detail)


def _formats(results: Results, record: Record) -> Iterator[Finding]:
    """Read tables and heads of weights that are those of the record; of others no more is said."""
    for file in record.outputs:
        path = PurePosixPath(file.path)
        if path.suffix in RUN:
            detail = f"who loads {path.suffix} runs what is in it; weights are *.safetensors"
            yield Finding("format", file.path, detail)
        elif path.suffix in READ and results.sha256(file.path) == file.sha256:
            try:
                READ[path.suffix](results, file)
            except Exception as error:  # noqa: BLE001 - whatever a damaged file raises
                yield Finding("schema", file.path, " ".join(f"{error}".split())[:500])


def _table(results: Results, file: File) -> None:
    """Read a table to its end, a group of rows at a time.

    Raises:
        ValueError: It is none of the study.
    """
    if file.name not in TABLES:
        raise ValueError(f"a table {file.name}; legal is one of {', '.join(TABLES)}")
    for rows in tables.groups(results.sound(file.path, file.name), file.name):
        rows.validate(full=True)


READ = {
    ".parquet": _table,
    ".safetensors": lambda results, file: _weights.check(results.opened(file.path)),
}
"""What tells by the end of a name whether a file is what it is called."""


def _strangers(results: Results) -> Iterator[Finding]:
    """Yield files that nobody speaks for."""
    spoken = {file.path for record in results.records for file in record.outputs} | results.spare
    # Of a part, what is left: its record may be gone, and its circumstances not.
    homes = {str(PurePosixPath(path).parent) for path in results.spare}
    for path in files(results.folder):
        inside = path.relative_to(results.folder)
        name = f"{HOME}/{inside.as_posix()}"
        # `provenance.json` -> `run.json`, `pass_at_k.provenance.json` -> `pass_at_k.run.json`
        mark = path.with_name(path.name.removesuffix(DIARY) + MARK)
        here = str(PurePosixPath(name).parent)
        diary = path.name.endswith(DIARY) and (mark.exists() or here in homes)
        aside = inside.parts[0] in ASIDE or inside.as_posix() in NOTES
        if not (name in spoken or path.name.endswith(MARK) or diary or aside):
            yield Finding("stranger", name, "no record speaks for it")
