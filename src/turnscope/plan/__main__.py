"""Say what a study will cost: give the output of a dry run that prints the commands of all jobs."""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from turnscope.plan import fit, forecast, jobs, rates, show, sizes, submissions


def main(arguments: list[str], lines: Iterable[str]) -> int:
    """Print a plan, and write it if it is said where; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m turnscope.plan", description=__doc__)
    parser.add_argument("--gpu", default="h100", help=f"one of {', '.join(sizes.DEVICES)}")
    parser.add_argument("--core-hour", type=float, help="price of an hour of a CPU core")
    parser.add_argument("--gpu-hour", type=float, help="price of an hour of a GPU")
    parser.add_argument("--output", type=Path, help="CSV file to write")
    options = parser.parse_args(arguments)
    prices = show.Prices(options.core_hour, options.gpu_hour)
    lines = list(lines)
    try:
        planned = jobs.read(lines)
        found = forecast.plan(planned, rates.load(), options.gpu)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - a command
        return 1
    if options.output:
        show.write(found, prices, options.output)
    print("\n".join(show.text(found, prices, submissions.count(lines))))  # noqa: T201 - a command
    if fits := fit.text(fit.rows(planned, jobs.study_of(planned))):
        print("\n".join(["", "GB on each GPU:", *fits]))  # noqa: T201 - a command
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin))
