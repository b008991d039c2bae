"""Print a table `calibration`, and fail if something in it did not pass: give its path."""

import sys
from pathlib import Path

from turnscope import tables

SHOWN = ["kind", "family", "studies", "rate", "low", "high", "expected", "p_value", "passed"]


def main(path: Path) -> int:
    """Print the table and what did not pass; return the exit code."""
    rows = tables.read(path, "calibration")
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
