"""Run the hostile programs on one rung and say what was wrong; also a script, for another user."""

import json
import sys
from pathlib import Path

from tests.sandbox.hostile import LIMITS, PROGRAMS, Hostile
from turnscope.sandbox import Pool, Program, Result, Settings, Status, pool

BENIGN = Program("def f(a):\n    return [x + 1 for x in a]\n", "f")
TRACES = [
    Path(folder, "turnscope-escape")
    for folder in ("/tmp", "/dev/shm", "/var/tmp", "/", "/dev", ".")
]


def settings(rung: str) -> Settings:
    """Return what hostile programs run under."""
    return Settings(LIMITS, rung=rung, allow_unsandboxed=rung == "rlimits")


def wrong(on: Pool, hostile: Hostile) -> list[str]:
    """Run one; return what is wrong, nothing if all is well."""
    found = on.run(Program(hostile.text, hostile.entry), [hostile.inputs, hostile.inputs])
    results = [result for batch in found for result in batch]
    problems = (
        [f"{len(results)} results"] if list(map(len, found)) != [len(hostile.inputs)] * 2 else []
    )
    for result in results:
        if result.status not in hostile.legal:
            problems.append(f"status {result.status}: {result.error or result.value}"[:300])
        elif result.status == Status.OK and hostile.value not in (None, result.value):
            problems.append(f"value {result.value}"[:400])
        if len(result.error) > 200 or "\n" in result.error or "/" in result.error:
            problems.append(f"error {result.error[:300]!r}")
        json.dumps(result, ensure_ascii=False, allow_nan=False).encode()
    if on.run(BENIGN, [[[[1, 2]]]]) != [[Result(Status.OK, [2, 3])]]:
        problems.append("another program does not run any more")
    return problems + [f"{path} was made" for path in TRACES if path.exists()]


if __name__ == "__main__":
    one = pool(settings(sys.argv[1]))
    played = {name: found for name in PROGRAMS if (found := wrong(one, PROGRAMS[name]))}
    sys.stdout.write(json.dumps(played))
