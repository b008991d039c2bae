"""What all stages share: the command line, the log, and the records beside the artifacts.

A stage is a module with `run(spec, inputs, outputs)`. The rule of the same name calls it, and so
can a person::

    python -m turnscope.stages.NAME --spec JSON --input NAME=PATH ... --output NAME=PATH ...

The output called `provenance` belongs to the job itself. It is written last, so an artifact with
it is complete. `provenance.json` speaks for all files of its folder, which is emptied beforehand;
`NAME.provenance.json` speaks for the declared outputs in a folder that several jobs share.
"""

import argparse
import json
import logging
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from turnscope import atomic, dates, intact, locks, provenance, records
from turnscope.records import DIARY, MARK
from turnscope.stages import _faults, _records

log = logging.getLogger(__name__)

SCRATCH = ".scratch"
"""Folder in an artifact's folder that outlives a killed job and is removed after a finished one."""

Run = Callable[[dict[str, Any], dict[str, Path], dict[str, Path]], None]


def main(run: Run) -> None:
    """Run a stage with the arguments of the command line and exit.

    Args:
        run: The stage: its specification, inputs and outputs in, files out. It may rely on the
            folders of the outputs being there.
    """
    sys.exit(execute(run, Path(run.__code__.co_filename).stem, sys.argv[1:]))


def execute(run: Run, stage: str, arguments: Sequence[str]) -> int:
    """Run a stage; return the exit code. The last line of the log says what went wrong.

    Of two processes that make one artifact at a time, the second one waits, and takes what the
    first one made if it would make the same.
    """
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        force=True,
    )
    outputs: dict[str, Path] = {}
    try:
        options = parse(arguments)
        outputs = files(options.output)
        _execute(run, stage, options)
    except Exception as error:  # the end of the process: whatever it was is reported
        log.error("the job failed", exc_info=True)
        _faults.say(f"error: {_faults.line(error, outputs.values())}")
        return 1
    return 0


def every(files: dict[str, Path], name: str) -> list[Path]:
    """List the files that were given under one name, in the order given.

    Args:
        files: Inputs of a stage. Several files of one name are called `name.0`, `name.1`, ...
        name: The name.
    """
    return [path for key, path in files.items() if key.split(".")[0] == name]


def folder(outputs: dict[str, Path]) -> Path:
    """Return the folder that is the artifact, for stages whose output is more than tables."""
    return outputs["provenance"].parent


def scratch(outputs: dict[str, Path]) -> Path:
    """Return a folder for what a killed job wants to find again; removed once the job is done."""
    return folder(outputs) / SCRATCH


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line of a stage, behind its name."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--spec", type=json.loads, required=True, help="options, a JSON object")
    parser.add_argument(
        "--code",
        nargs="+",
        default=[""],
        metavar=("DIGEST", "MODULE"),
        help="digest of the code that is expected to run, and the modules that it starts from; "
        "the stage alone by default",
    )
    parser.add_argument("--input", nargs="*", default=[], metavar="NAME=PATH [PATH ...]")
    parser.add_argument("--output", nargs="+", required=True, metavar="NAME=PATH")
    return parser.parse_args(arguments)


def files(words: Sequence[str]) -> dict[str, Path]:
    """Read `a=1 b=2 3 c=` as a is 1, b.0 and b.1 are 2 and 3, and there is no c."""
    groups: dict[str, list[Path]] = {}
    paths: list[Path] | None = None
    for word in words:
        name, equals, rest = word.partition("=")
        if equals:
            paths = groups.setdefault(name, [])
        elif paths is None:
            raise ValueError(f"{word!r} has no name; write NAME={word}")
        if path := rest if equals else word:
            paths.append(Path(path))
    return {
        name if len(paths) == 1 else f"{name}.{number}": path
        for name, paths in groups.items()
        for number, path in enumerate(paths)
    }


def _execute(run: Run, stage: str, options: argparse.Namespace) -> None:
    inputs, outputs = files(options.input), files(options.output)
    if "provenance" not in outputs:
        raise ValueError("no output is called provenance; every job needs one")
    mark = outputs["provenance"]
    own = mark.name == MARK
    planned, *names = options.code
    names = names or [f"stages.{stage}"]
    modules, code = provenance.modules(names), provenance.digest(names)
    if planned and planned != code:
        log.warning("the code changed since the job was planned: %s, now %s", planned, code)
    for path in outputs.values():
        path.parent.mkdir(parents=True, exist_ok=True)
    if own:
        _check(mark.parent, inputs.values())
    for path in dates.heal(inputs.values()):
        log.warning("%s was dated in the future, for the clock was set back; now it is not", path)
    locked = mark.parent if own else mark  # beside it: what is in it is removed
    lock = locked.with_name(f".{locked.name}.lock")
    with locks.holding(lock, str(mark.parent if own else outputs[min(outputs)])) as waited:
        if waited and _records.is_made(mark, stage, options.spec, code, inputs, outputs):
            log.info("%s: another process made it meanwhile", stage)
        else:
            _make(run, stage, options.spec, inputs, outputs, (code, modules))
        shutil.rmtree(mark.parent / SCRATCH, ignore_errors=True)


def _make(
    run: Run,
    stage: str,
    spec: dict[str, Any],
    inputs: dict[str, Path],
    outputs: dict[str, Path],
    code: tuple[str, dict[str, str]],
) -> None:
    mark = outputs["provenance"]
    own = mark.name == MARK
    sums = intact.sums(inputs)
    for path in outputs.values():
        atomic.sweep(path)
    if own:
        _empty(mark.parent)
    start, clock = datetime.now(UTC), time.perf_counter()
    log.info("%s: start", stage)
    run(spec, inputs, outputs)
    seconds = time.perf_counter() - clock
    made = {name: path for name, path in outputs.items() if path != mark}
    for name, path in made.items():
        if not path.is_file():
            raise ValueError(f"stage {stage} did not write its output {name}: {path}")
    diary = records.diary(mark)
    if own:
        made |= _others(mark.parent, {*made.values(), mark, diary})
    record = provenance.record(stage, spec, *code, inputs, made, sums)
    provenance.write_json(
        provenance.circumstances(
            start.isoformat(timespec="seconds"),
            datetime.now(UTC).isoformat(timespec="seconds"),
            seconds,
        )
        | _facts(spec),
        diary,
    )
    provenance.write_json(record, mark)
    log.info("%s: done in %.1f s", stage, seconds)


def _facts(spec: dict[str, Any]) -> dict[str, Any]:
    """Ask the environment, if this job used one, how it ran."""
    world: Any = sys.modules.get(f"turnscope.environments.{spec.get('env')}")
    facts: dict[str, Any] = world.facts() if hasattr(world, "facts") else {}
    for name, fact in facts.items():
        log.info("%s: %s", name, fact)
    return facts


def _check(folder: Path, inputs: Iterable[Path]) -> None:
    """Refuse to empty a folder.

    Raises:
        ValueError: The folder holds an input, or files that no job made.
    """
    for path in inputs:
        if path.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"{folder} is emptied by the job, but it holds the input {path}")
    found = sorted(folder.iterdir())
    if found and not {SCRATCH, DIARY} & {path.name for path in found}:
        raise ValueError(
            f"{folder} holds {found[0].name}, which no job made; "
            "legal is a folder that is new, empty or an earlier job's"
        )


def _empty(folder: Path) -> None:
    """Remove what an earlier job left in the folder of an artifact, but for its scratch."""
    (folder / SCRATCH).mkdir(exist_ok=True)
    for path in sorted(folder.iterdir()):
        if path.name == SCRATCH:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _others(folder: Path, known: set[Path]) -> dict[str, Path]:
    """Name the files of a folder that were not declared; hidden ones are scratch."""
    return {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and path not in known
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }
