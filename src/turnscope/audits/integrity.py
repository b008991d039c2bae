"""Every file that a record speaks for is there and has its checksum; tables have their schema."""

from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq

from turnscope import provenance
from turnscope.audits._results import (
    HOME,
    MARK,
    Finding,
    Outcome,
    Record,
    Results,
    Settings,
    each,
    files,
)
from turnscope.schemas import TABLES

ASIDE = ("audits", "benchmarks", "logs", "plan")
"""Folders of what is said about jobs, not made by them."""
NOTES = ("MANIFEST.sha256", "README.md")


def check(results: Results, settings: Settings) -> Outcome:
    """Compare files with the records that speak for them, and records with themselves."""
    found = list(results.unreadable)
    found += each(results.records, _sealed)
    found += each(results.records, lambda record: _files(results, record))
    found += each(results.records, lambda record: _schemas(results, record))
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
        if not place.exists():
            yield Finding("missing", file.path, f"{record.mark} speaks for it")
        elif (found := results.sha256(file.path)) is None:
            yield Finding("unreadable", file.path, "it cannot be read as a file")
        elif found != file.sha256:
            detail = f"sha256 is {found[:16]}..., recorded was {file.sha256[:16]}..."
            yield Finding("checksum", file.path, detail)
        elif place.stat().st_size != sizes[file.path]:
            detail = f"{place.stat().st_size} bytes, recorded were {sizes[file.path]}"
            yield Finding("checksum", file.path, detail)


def _schemas(results: Results, record: Record) -> Iterator[Finding]:
    """Read tables that are those of the record; of others that is all that can be said."""
    for file in record.outputs:
        place = results.place(file.path)
        if place.suffix == ".parquet" and results.sha256(file.path) == file.sha256:
            try:
                why = _misfit(place, file.name)
            except Exception as error:  # noqa: BLE001 - whatever a damaged file raises
                why = " ".join(f"not a readable table: {error}".split())[:500]
            if why:
                yield Finding("schema", file.path, why)


def _misfit(place: Any, name: str) -> str | None:
    """Read a table to its end, a group of rows at a time; say why it is not one of the study."""
    with pq.ParquetFile(place) as file:
        schema = file.schema_arrow
        table = (schema.metadata or {}).get(b"turnscope.table", b"").decode()
        if table not in TABLES or (name in TABLES and table != name):
            return f"a table of {table or 'nobody'}; must be one of {name}"
        if not schema.remove_metadata().equals(TABLES[table]):
            return f"its columns are not those of table {table}"
        for part in file.iter_batches():
            part.validate(full=True)
    return None


def _strangers(results: Results) -> Iterator[Finding]:
    """Yield files that nobody speaks for."""
    spoken = {file.path for record in results.records for file in record.outputs}
    for path in files(results.folder):
        inside = path.relative_to(results.folder)
        name = f"{HOME}/{inside.as_posix()}"
        # `provenance.json` -> `run.json`, `pass_at_k.provenance.json` -> `pass_at_k.run.json`
        mark = path.with_name(path.name.removesuffix("run.json") + MARK)
        diary = path.name.endswith("run.json") and mark.exists()
        aside = inside.parts[0] in ASIDE or inside.as_posix() in NOTES
        if not (name in spoken or path.name.endswith(MARK) or diary or aside):
            yield Finding("stranger", name, "no record speaks for it")
