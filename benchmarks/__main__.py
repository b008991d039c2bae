"""Run all benchmarks, each in a process of its own, and write one table.

`python -m benchmarks [NAME ...]` writes results/benchmarks/bench.md and bench.json.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from benchmarks.rows import Row, machine, table

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "results/benchmarks"
NAMES = (
    "rollout_trl",
    "step_trl",
    "credit",
    "budget_grid",
    "pass_at_kt",
    "matched",
    "sandbox",
    "databases",
    "function_calls",
    "noop",
)


def run(name: str) -> list[Row]:
    """Run one benchmark with one thread; what it logs is shown only if it fails."""
    start = time.perf_counter()
    print(f"{name} ...", end=" ", flush=True)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name}", file.name],
            cwd=ROOT,
            env=os.environ | {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"failed:\n{done.stdout}")
        rows = [Row(**row) for row in json.loads(Path(file.name).read_text())]
    print(f"{time.perf_counter() - start:.0f} s")
    return rows


def main(names: list[str]) -> None:
    """Run some or all benchmarks, print their table and store it."""
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        raise SystemExit(f"unknown benchmark {unknown[0]!r}; known: {', '.join(NAMES)}")
    facts = machine()
    rows = {name: run(name) for name in names or NAMES}
    facts["load_average_after"] = machine()["load_average"]
    text = table([row for found in rows.values() for row in found])
    where = [f"- {name.replace('_', ' ')}: {value}" for name, value in facts.items()]
    notes = [
        "Rates and seconds are medians of alternating runs in one process with one thread, by wall",
        "time; the ratio in brackets is by processor time. A bar with a ratio needs both.",
    ]
    page = "\n".join(["# Benchmarks", "", text, "", *notes, "", *where, ""])
    print(page)
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "bench.md").write_text(page)
    stored = {name: [asdict(row) for row in found] for name, found in rows.items()}
    (FOLDER / "bench.json").write_text(json.dumps({"machine": facts, "rows": stored}, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
