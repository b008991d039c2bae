"""What an artifact was made from: its code, its options, its inputs, and what came out.

Two records lie beside each artifact. `provenance.json` holds only what must be equal in an equal
run: specification, code, checksums of inputs and outputs. `run.json` holds the circumstances:
commit, versions, host, clock.

The code behind an artifact is named by a digest of the syntax trees of all modules that a stage
imports, found without importing any. Layout, comments and docstrings do not enter it: an edit that
cannot change a number re-runs nothing. A data file beside a module that bears its name, such as
`_page.html.jinja` beside `_page.py`, belongs to the module. Packages of others enter with the
version that `envs/requirements.txt` pins.
"""

import ast
import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from turnscope import atomic, processes

SCHEMA = 1
"""Version of both records."""
PACKAGE = Path(__file__).parent
NOT_CODE = ("turnscope.intact", "turnscope.provenance", "turnscope.records")
"""Modules that record what happens without any say in it; an edit of them re-runs nothing."""
BROUGHT = {
    "seaborn": ("matplotlib",),
    "transformers": ("safetensors", "tokenizers", "torch"),
    "trl": ("accelerate", "safetensors", "tokenizers", "torch", "transformers"),
}
"""Packages that do part of the work of one that a module imports."""
VERSIONS = (
    "numpy",
    "pandas",
    "pyarrow",
    "scipy",
    "snakemake",
    "tokenizers",
    "torch",
    "transformers",
    "trl",
)


def modules(names: Iterable[str]) -> dict[str, str]:
    """Digest modules of the package and all that they import from it, directly or not.

    Args:
        names: Modules of the package without its name, such as `stages.sample`.

    Returns:
        Full name and digest of each module, and name and pinned version of each package that
        they import, sorted by name. `NOT_CODE` is left out.

    Raises:
        ValueError: There is no such module.
    """
    found: dict[str, str] = {}
    others: set[str] = set()
    waiting = _with_parents(f"{PACKAGE.name}.{name}" for name in names)
    while waiting:
        name = waiting.pop()
        if name in found or name in NOT_CODE:
            continue
        path = _path(name)
        if path is None:
            raise ValueError(f"there is no module {name}")
        found[name], imports, packages = _scan(path)
        waiting += imports
        others |= packages
    others |= {part for name in others for part in BROUGHT.get(name, ())}
    pinned = _pins(PACKAGE.parent.parent / "envs" / "requirements.txt")
    found |= {name: pinned[name] for name in others if name in pinned}
    return dict(sorted(found.items()))


def digest(names: Iterable[str]) -> str:
    """Return one digest of the code in `modules(names)`, 16 hexadecimal digits."""
    return canonical_sha256(modules(names))[:16]


def _path(name: str) -> Path | None:
    """Find the file of a module of the package."""
    stem = PACKAGE.parent.joinpath(*name.split("."))
    for path in (stem.with_suffix(".py"), stem / "__init__.py"):
        if path.is_file():
            return path
    return None


@functools.cache
def _pins(path: Path) -> dict[str, str]:
    """Return the version of each pinned package, by the name under which it is imported.

    None is known where the package is installed without its repository.
    """
    lines = path.read_text().splitlines() if path.is_file() else []
    pairs = (line.partition("==") for line in lines)
    return {name.lower().replace("-", "_"): version for name, mark, version in pairs if mark}


@functools.cache
def _scan(path: Path) -> tuple[str, list[str], set[str]]:
    """Return the digest of a file and what it imports: modules of the package, other packages."""
    tree = ast.parse(path.read_bytes())
    imported = [name for node in ast.walk(tree) for name in _imported(node)]
    imports = [name for name in imported if _is_ours(name) and _path(name)]
    packages = {name.split(".")[0] for name in imported if not _is_ours(name)}
    content = hashlib.sha256(_dump(tree).encode())
    for data in sorted(path.parent.glob(f"{path.stem}.*")):
        if not data.suffix.startswith(".py"):
            content.update(data.name.encode() + data.read_bytes())
    return content.hexdigest(), _with_parents(imports), packages


def _with_parents(names: Iterable[str]) -> list[str]:
    """Add the packages that Python runs before it runs a module in them."""
    return sorted({name.rsplit(".", up)[0] for name in names for up in range(name.count(".") + 1)})


def _dump(node: Any) -> str:
    """Spell a syntax tree without docstrings, equal under every version of Python.

    `ast.dump` is not: versions differ in whether they print empty fields.
    """
    if isinstance(node, ast.AST):
        fields = [
            f"{name}={_dump(value)}"
            for name, value in ast.iter_fields(node)
            if value is not None and value != []
        ]
        return f"{type(node).__name__}({','.join(fields)})"
    if isinstance(node, list):
        return f"[{','.join(_dump(entry) for entry in node if not _is_text(entry))}]"
    return repr(node)


def _imported(node: ast.AST) -> list[str]:
    """List what an import statement may name as modules; some are functions."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def _is_ours(name: str) -> bool:
    """Tell modules of the package from those of others."""
    return name.split(".")[0] == PACKAGE.name


def _is_text(node: Any) -> bool:
    """Tell docstrings, of modules to attributes, from statements that do something."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def canonical(value: Any) -> str:
    """Return JSON that is equal for equal values: sorted keys, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_sha256(value: Any) -> str:
    """Return the SHA-256 of `canonical(value)`, hexadecimal."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of the content of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def key(stage: str, spec: Mapping[str, Any], code: str, inputs: Mapping[str, str]) -> str:
    """Return a digest of all that determines the result of a job.

    Args:
        stage: Name of the stage.
        spec: Its specification.
        code: Digest of its code.
        inputs: Name and SHA-256 of each input.
    """
    return canonical_sha256([stage, spec, code, [[name, inputs[name]] for name in inputs]])


def record(
    stage: str,
    spec: Mapping[str, Any],
    code: str,
    code_modules: Mapping[str, str],
    inputs: Mapping[str, Path],
    outputs: Mapping[str, Path],
    sums: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Describe a finished job by what determines its result, and by the result.

    Args:
        stage: Name of the stage.
        spec: Its specification.
        code: Digest of its code, as the rule computed it.
        code_modules: The modules behind the digest, see `modules`.
        inputs: What it read.
        outputs: What it wrote.
        sums: SHA-256 of each input as it was read; None is as they are now.

    Returns:
        The content of `provenance.json`. Its `key` is a digest of all that determines the result.
    """
    sums = sums or {name: file_sha256(path) for name, path in inputs.items()}
    read = [
        {"name": name, "path": path.as_posix(), "sha256": sums[name]}
        for name, path in inputs.items()
    ]
    wrote = [
        {
            "name": name,
            "path": path.as_posix(),
            "sha256": file_sha256(path),
            "bytes": path.stat().st_size,
        }
        for name, path in sorted(outputs.items())
    ]
    return {
        "schema": SCHEMA,
        "stage": stage,
        "key": key(stage, spec, code, {entry["name"]: entry["sha256"] for entry in read}),
        "spec": dict(spec),
        "spec_sha256": canonical_sha256(spec),
        "code": code,
        "modules": dict(code_modules),
        "inputs": read,
        "outputs": wrote,
    }


def circumstances(start: str, end: str, seconds: float) -> dict[str, Any]:
    """Describe where and when this process ran; equal runs differ in it.

    Args:
        start: When the job began, ISO 8601.
        end: When it was done.
        seconds: How long it took.
    """
    cpu = processes.cpu_seconds()
    return {
        "schema": SCHEMA,
        "commit": _git("rev-parse", "HEAD"),
        "dirty": None if (changes := _git("status", "--porcelain")) is None else bool(changes),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in VERSIONS},
        "host": platform.node(),
        "platform": platform.platform(),
        "threads": os.environ.get("OMP_NUM_THREADS"),
        "slurm_job": os.environ.get("SLURM_JOB_ID"),
        "start": start,
        "end": end,
        "seconds": round(seconds, 3),
        "cpu_seconds": round(cpu, 3),
        "peak_rss_bytes": processes.peak_bytes(),
    }


def _git(*arguments: str) -> str | None:
    """Ask git about the repository of this file; None where there is none."""
    try:
        done = subprocess.run(
            ["git", "-C", str(PACKAGE), *arguments],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def write_json(value: Any, path: Path) -> None:
    """Write a record for people and programs, at once or not at all."""
    text = json.dumps(value, indent=2, sort_keys=True, allow_nan=False)
    atomic.write_text(f"{text}\n", path)
