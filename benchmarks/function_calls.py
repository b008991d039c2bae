"""All 800 solutions of BFCL multi-turn, played call by call and judged by its own checker.

They begin at the initial configuration, make one call after the other inside the sandbox, and ask
the official checker at the end. Nothing is known of any call before, and the start of the
interpreter counts. Processor time is that of this process and of all that it started.
"""

import time
from typing import Any

from benchmarks.rows import Row, main
from benchmarks.sandbox import processor
from turnscope.environments.bfcl import host, official

MOST = 10.0
"""Seconds."""


def measure() -> list[Row]:
    """Play all solutions once."""
    number = official.SCENARIOS * len(official.CATEGORIES)
    payloads = [task.payload for task in official.tasks(0, train=number // 2, test=number // 2)]
    start, spent = time.perf_counter(), processor()
    simulator = host.Simulator(official.folder(), host.SETTINGS)
    for payload in payloads:
        _play(simulator, payload)
    wall, spent = time.perf_counter() - start, processor() - spent
    return [
        Row(
            f"all {number} solutions of BFCL, call by call, with verdicts",
            "s",
            wall,
            bar=f"< {MOST:g} s",
            met=wall < MOST,
            details={
                "calls": sum(len(calls) for one in payloads for calls in one["gold"]),
                "processor_seconds": spent,
            },
        )
    ]


def _play(simulator: host.Simulator, payload: dict[str, Any]) -> None:
    state = simulator.start(payload)
    for calls in payload["gold"]:
        for call in calls:
            state = simulator.act(state, [call]).state
    said = [[[call] for call in calls] for calls in payload["gold"]]
    wrong = simulator.verdict(payload, said)
    assert not wrong, wrong


if __name__ == "__main__":
    main(measure)
