"""Write the pages of docs/ that are made from code: `make docs`. With --check, only compare."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from turnscope import atomic
from turnscope.schemas import TABLES

ROOT = Path(__file__).parent.parent


def tables_page() -> str:
    """Describe every column of every table, from `turnscope.schemas`."""
    lines = [
        "# Tables",
        "",
        "Made from `src/turnscope/schemas` by `make docs`. All tables are Parquet files. "
        "Missing is null, never 0. An episode is named by env, model, policy, task_id and sample.",
    ]
    for name, schema in TABLES.items():
        lines += [
            "",
            f"## {name}",
            "",
            "| column | type | null | meaning |",
            "| --- | --- | --- | --- |",
        ]
        for field in schema:
            about = field.metadata[b"about"].decode().replace("|", "\\|")
            nullable = "yes" if field.nullable else ""
            lines.append(f"| {field.name} | {field.type} | {nullable} | {about} |")
    return "\n".join(lines) + "\n"


def rule_graph() -> str:
    """Draw which rule feeds which, as a Mermaid diagram."""
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")),
                *("--directory", empty, "--forceall", "--rulegraph", "mermaid-js", "--quiet"),
                *("--", "all"),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        sys.exit(done.stderr)
    # Snakemake numbers the rules anew in each run; their names are the better nodes.
    names = dict(re.findall(r"^\s*(id\d+)\[(\w+)\]$", done.stdout, re.MULTILINE))
    arrows = re.findall(r"^\s*(id\d+) --> (id\d+)$", done.stdout, re.MULTILINE)
    edges = sorted((names[source], names[target]) for source, target in arrows)
    return "flowchart TB\n" + "".join(f"    {source} --> {target}\n" for source, target in edges)


PAGES = {"docs/tables.md": tables_page, "docs/rulegraph.mmd": rule_graph}


def main() -> None:
    """Write the pages, or say which differ from what would be written."""
    pages = {ROOT / name: make() for name, make in PAGES.items()}
    if "--check" in sys.argv:
        old = [
            path.name
            for path, page in pages.items()
            if not path.exists() or path.read_text() != page
        ]
        sys.exit(f"{', '.join(old)}: out of date; run make docs" if old else 0)
    for path, page in pages.items():
        atomic.write_text(page, path)


if __name__ == "__main__":
    main()
