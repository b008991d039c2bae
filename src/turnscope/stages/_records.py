"""Whether records tell the truth of the artifacts that they speak for."""

from pathlib import Path
from typing import Any

from turnscope import provenance, records


def is_made(
    mark: Path,
    stage: str,
    spec: dict[str, Any],
    code: str,
    inputs: dict[str, Path],
    outputs: dict[str, Path],
) -> bool:
    """Say whether an artifact is there that is just what this job would make."""
    record = records.read(mark)
    if record is None:
        return False
    wrote = {Path(entry["path"]): entry["sha256"] for entry in record["outputs"]}
    read = {name: provenance.file_sha256(path) for name, path in inputs.items()}
    return (
        record.get("key") == provenance.key(stage, spec, code, read)
        and wrote.keys() >= {*outputs.values()} - {mark}
        and all(
            path.is_file() and provenance.file_sha256(path) == sha256
            for path, sha256 in wrote.items()
        )
    )
