"""Make one part of a finished study again and show it before and after.

    python -m turnscope.ablation grpo --cores 2

The study stays as it is: what is made again lies in `results/again/`.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from turnscope import config as studies
from turnscope import provenance
from turnscope.ablation import asked, compare, show
from turnscope.ablation import folder as folders
from turnscope.why import __main__ as why
from turnscope.why import reasons

ROOT = provenance.PACKAGE.parent.parent


def main(arguments: Sequence[str]) -> int:
    """Make a part again and compare; return the exit code."""
    options = _parse(arguments)
    try:
        changes = overlay(options.set)
        config = study_of(options.config, changes)
        what = asked.resolve(options.what, config)
        return _again(options, config, changes, what)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - a command
        return 1


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m turnscope.ablation", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "what",
        nargs="?",
        default="",
        help="a claim, figure, summary, metric, arm, policy (grpo-s1) or seed (s1), or "
        "ENVIRONMENT/MODEL/POLICY; only what changed if it is left out",
    )
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="of the config")
    parser.add_argument("--config", type=Path, help="overlay of config.yaml that the study has")
    parser.add_argument("--folder", type=Path, default=Path(), help="of the study; here by default")
    parser.add_argument("--cores", default="2")
    parser.add_argument("--dry-run", action="store_true", help="say what would run, and why")
    parser.epilog = "What follows -- is given to Snakemake."
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:cut])
    options.more = list(arguments[cut + 1 :])
    return options


def overlay(settings: Sequence[str]) -> dict[str, Any]:
    """Read settings such as `training.steps=20` as an overlay of the config.

    Raises:
        ValueError: One has no key or no value.
    """
    changes: dict[str, Any] = {}
    for setting in settings:
        path, equals, text = setting.partition("=")
        *parents, last = path.split(".")
        if not equals or not all([*parents, last]):
            raise ValueError(f"{setting!r} is no setting; write KEY=VALUE, as training.steps=20")
        try:
            value = json.loads(text)
        except ValueError:
            value = _plain(setting, text)
        place = changes
        for parent in parents:
            place = place.setdefault(parent, {})
            if not isinstance(place, dict):
                raise ValueError(f"{setting!r} sets part of what another setting replaces")
        place[last] = value
    return changes


def _plain(setting: str, text: str) -> Any:
    """Read what is no JSON as YAML, such as a name without quotes."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"{setting!r} has no legal value; write JSON without spaces") from error


def study_of(path: Path | None, changes: dict[str, Any]) -> dict[str, Any]:
    """Read a study as the workflow does.

    Raises:
        ValueError: It cannot be run, or there is no such overlay.
    """
    config: dict[str, Any] = yaml.safe_load((ROOT / "config.yaml").read_text())
    if path is not None:
        if not path.is_file():
            raise ValueError(f"there is no config {path}")
        config = merged(config, yaml.safe_load(path.read_text()) or {})
    schema = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
    try:
        return studies.check(merged(config, changes), schema)
    except ValueError as error:
        raise ValueError(f"config: {error}") from error


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Change single keys, as the workflow does: mappings key by key, all else replaced."""
    result = dict(base)
    for key, value in changes.items():
        old = result.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            value = merged(old, value)
        result[key] = value
    return result


def _again(
    options: argparse.Namespace,
    config: dict[str, Any],
    changes: dict[str, Any],
    what: asked.Asked,
) -> int:
    study = options.folder
    if next(folders.marks(study), None) is None:
        raise ValueError(f"there is no finished study in {study / 'results'}; run it first")
    request = {
        "what": options.what,
        "set": options.set,
        "config": str(options.config.resolve()) if options.config else None,
    }
    folder = folders.choose(study, request)
    folders.prepare(study, folder, request, changes, what.marks)
    folders.share(study, folder, config["models"])
    if options.dry_run:
        done = _run(options, folder, what.target, "--dry-run")
        folders.remove(folder)
        print("\n".join(why.text(_asked_for(done.stdout))))  # noqa: T201 - a command
        return done.returncode
    done = _run(options, folder, what.target, "--quiet", "host", "reason")
    if done.returncode:
        raise ValueError("a job failed, see above; the same command goes on where it stopped")
    files = compare.files(study, folder)
    found = show.Comparison(
        what,
        options.set,
        files,
        compare.claims(study, folder),
        compare.estimates(study, folder),
        compare.drawn(study, folder, files.other),
    )
    show.write(found, folder, shlex.join(["python", "-m", "turnscope.ablation", *sys.argv[1:]]))
    page = folder / folders.DONE
    print("\n".join(["", *show.text(found), f"page: {page}"]))  # noqa: T201 - a command
    return 0 if show.same(found) else 1


def _asked_for(printed: str) -> Iterator[tuple[str, str]]:
    """Read jobs and reasons from a dry run; what is missing is what was asked for."""
    for job, reason in why.planned(printed.splitlines()):
        yield job, "made again" if reason == reasons.NEW else reason


def _run(
    options: argparse.Namespace, folder: Path, target: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Let Snakemake bring a target up to date in the folder; of a dry run, catch what it prints."""
    overlays = [options.config.resolve()] if options.config else []
    overlays.append((folder / folders.CHANGES).resolve())
    return subprocess.run(
        [
            *(sys.executable, "-m", "snakemake", target, "--snakefile", ROOT / "Snakefile"),
            *("--directory", folder, "--cores", options.cores),
            *("--configfile", *overlays),
            *options.more,
            *arguments,
        ],
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        stdout=subprocess.PIPE if "--dry-run" in arguments else None,
        text=True,
        check=False,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
