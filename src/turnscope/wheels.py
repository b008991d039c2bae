"""Packages that are never dependencies: each set of them is kept in a folder of its own.

Some packages hold data or programs that are needed, and ask for others that would conflict with
everything else here. They are installed alone, pinned by their content, where no import finds them
by itself. What is made of the folder is the business of who asks for it.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from turnscope import atomic

LINE = re.compile(r"[A-Za-z0-9][\w.-]*==[\w.!+-]+ --hash=sha256:[0-9a-f]{64}", re.ASCII)
INSTALL = (
    *("install", "--no-deps", "--require-hashes", "--only-binary", ":all:", "--no-input"),
    *("--disable-pip-version-check", "--no-compile", "--quiet"),
)


def folder(requirements: Sequence[str]) -> Path:
    """Return the folder of a set of packages; it is installed at first use.

    Several processes may ask at once. The folder appears when it is complete, can be read by every
    user that can reach it, and is never changed again.

    Args:
        requirements: Lines such as `mpmath==1.3.0 --hash=sha256:...`, one wheel each.

    Raises:
        ValueError: A line is no such line.
        RuntimeError: The packages could not be installed; says why, and what to run by hand.
    """
    for line in requirements:
        if not LINE.fullmatch(line):
            raise ValueError(f"requirement is {line!r}; legal is name==version --hash=sha256:...")
    text = "".join(f"{line}\n" for line in sorted(requirements))
    place = cache() / "wheels" / hashlib.sha256(text.encode()).hexdigest()[:32]
    if not place.is_dir():
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{place.name}.", dir=place.parent) as temporary:
            _install(text, Path(temporary), place)
    return place


def cache(variables: Mapping[str, str] = os.environ) -> Path:
    """Return where Turnscope keeps what it can get again.

    Args:
        variables: `TURNSCOPE_CACHE` names the folder, else `XDG_CACHE_HOME` the one it lies in.
    """
    if own := variables.get("TURNSCOPE_CACHE"):
        return Path(own).expanduser().absolute()
    general = variables.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(general).expanduser().absolute() / "turnscope"


def _install(requirements: str, temporary: Path, place: Path) -> None:
    """Install into a temporary folder and move it to its place, if nothing is there by then."""
    lines, fresh, kept = temporary / "lines.txt", temporary / "fresh", place.with_suffix(".txt")
    lines.write_text(requirements)
    fresh.mkdir()
    run = [sys.executable, "-m", "pip", *INSTALL]
    done = subprocess.run(
        [*run, "--target", str(fresh), "-r", str(lines)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )
    os.replace(lines, kept)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "pip said nothing").splitlines()[-1]
        names = ", ".join(line.partition(" ")[0] for line in requirements.splitlines())
        # Moved afterwards: the folder may appear only when it is complete.
        part = f"{place}.part"
        command = " ".join([*run, "--target", part, "-r", str(kept), "&& mv", part, str(place)])
        raise RuntimeError(
            f"could not install {names} ({said.removeprefix('ERROR: ')}); where there is a"
            f" network, run: {command}"
        )
    for path in [fresh, *fresh.rglob("*")]:
        path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
    atomic.settle(fresh)
    try:
        os.rename(fresh, place)
    except OSError:
        if not place.is_dir():  # no other process was faster
            raise
