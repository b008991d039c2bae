"""Run Snakemake with a cache of artifacts, whose folder TURNSCOPE_ARTIFACTS names.

What the cache has is put in place before jobs are planned, and what was made is kept afterwards::

    TURNSCOPE_ARTIFACTS=/shared/made python workflow/cached.py .venv/bin/snakemake --cores 2 all
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"
ONLY_LOOKS = {"-n", "--dry-run", "--dryrun", "--touch", "-t", "--unlock", "--summary", "--lint"}


def main(command: list[str]) -> int:
    """Run a command of Snakemake; return its exit code."""
    if not os.environ.get("TURNSCOPE_ARTIFACTS"):
        sys.exit("error: TURNSCOPE_ARTIFACTS names no folder")
    if os.path.lexists(named := os.environ["TURNSCOPE_ARTIFACTS"]) and not os.path.isdir(named):
        sys.exit(f"error: TURNSCOPE_ARTIFACTS names {named}, which is no folder")
    if ONLY_LOOKS & set(command) or any(
        re.fullmatch("-[a-zA-Z]*n[a-zA-Z]*", one) for one in command
    ):
        return subprocess.run(command, check=False).returncode
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--directory", "-d", default=".")
    folder = parser.parse_known_args(command)[0].directory
    dry = [*command, "--forceall", "--dry-run", "--printshellcmds", "--quiet", "progress"]
    planned = subprocess.run(dry, capture_output=True, text=True, check=False)
    if planned.returncode != 0:  # no study can be planned: Snakemake says why, once
        return subprocess.run(command, check=False).returncode
    Path(folder).mkdir(parents=True, exist_ok=True)
    brought = cache(folder, ["restore"], planned.stdout).splitlines()
    if brought:  # tells Snakemake what they were made from, else it would not see changes
        touch = [*command, "--touch", "--forceall", "--quiet", "all", "--until", *brought]
        if code := subprocess.run(touch, check=False).returncode:
            return code
    code = subprocess.run(command, check=False).returncode
    cache(folder, ["store", "results"], "")
    return code


def cache(folder: str, arguments: list[str], said: str) -> str:
    """Run a command of the cache in the folder of a study; return what it prints."""
    return subprocess.run(
        [sys.executable, "-m", "turnscope.cache", *arguments],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(SOURCE),
            "TURNSCOPE_ARTIFACTS": os.path.abspath(os.environ["TURNSCOPE_ARTIFACTS"]),
        },
        input=said,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    ).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
