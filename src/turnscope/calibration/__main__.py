"""Print a table `calibration`, and fail if something in it did not pass: give its path."""

import sys
from pathlib import Path

from turnscope import intact, tables

SHOWN = ["kind", "family", "studies", "rate", "low", "high", "expected", "p_value", "passed"]


def main(path: Path) -> int:
    """Print the table and what did not pass; return the exit code."""
    try:
        intact.sums({"calibration": path})
        rows = tables.read(path, "calibration")
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - this is a command
        return 1
    tested = rows.loc[rows["kind"] != "naive"]
    failed = tested.loc[~tested["passed"], "family"].tolist()
    said = [
        rows[SHOWN].round(3).to_string(index=False),
        f"{len(tested) - len(failed)} of {len(tested)} families are calibrated",
        *(f"not calibrated: {family}" for family in failed),
    ]
    print("\n".join(said))  # noqa: T201 - this is a command
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
