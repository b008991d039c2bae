"""How long `snakemake -n all_figures` takes when there is nothing to do.

On the study under results/ if it is finished; else on the study of config/test.yaml, which is run
in a temporary folder first.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.rows import Row, main

ROOT = Path(__file__).parent.parent
BAR, ROUNDS = 10.0, 3


def measure() -> list[Row]:
    """Time the dry run."""
    if _nothing_to_do(_snakemake("-n", "all_figures")):
        return [_row("default study", [])]
    with tempfile.TemporaryDirectory() as folder:
        small = ["--configfile", str(ROOT / "config/test.yaml"), "--directory", folder]
        _snakemake("--cores", "2", "all_figures", before=small)
        return [_row("test study", small)]


def _row(study: str, options: list[str]) -> Row:
    seconds, quiet = [], True
    for _ in range(ROUNDS):
        start = time.perf_counter()
        quiet &= _nothing_to_do(_snakemake("-n", "all_figures", before=options))
        seconds.append(time.perf_counter() - start)
    took = sorted(seconds)[ROUNDS // 2]
    return Row(
        f"snakemake -n all_figures, {study}",
        "s",
        took,
        bar=f"< {BAR:g} s",
        met=took < BAR and quiet,
        details={"seconds": seconds, "nothing_to_do": quiet},
    )


def _snakemake(*arguments: str, before: list[str] | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", *(before or []), *arguments],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"snakemake {' '.join(arguments)} failed:\n{done.stdout}")
    return done.stdout


def _nothing_to_do(output: str) -> bool:
    return "Nothing to be done" in output


if __name__ == "__main__":
    main(measure)
