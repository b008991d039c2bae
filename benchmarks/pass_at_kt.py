"""Time and memory of Pass@(K,T) with intervals, bands and tests, at the size of the default study.

Run by hand: `OMP_NUM_THREADS=1 PYTHONPATH=src python -m benchmarks.pass_at_kt`
"""

import resource

from tests.simulated import study

from benchmarks.rows import Row, clock, main
from turnscope.metrics import Settings, pass_at_kt

TASKS, EPISODES, T_MAX, DRAWS = 500, 32, 20, 10_000
BAR_SECONDS, BAR_GIB = 2.0, 1.0
SETTINGS = Settings(
    ks=[1, 2, 4, 8, 16, 32], k=8, shares=[j / 10 for j in range(1, 11)], draws=DRAWS, seed=1
)


def measure() -> list[Row]:
    """Estimate everything for four policies and their arm.

    Returns:
        Seconds of the second of two runs (the first pays for imports), and the peak memory of the
        whole process.
    """
    frames = study(1, tasks=TASKS, episodes=EPISODES, t_max=T_MAX)
    pass_at_kt.estimate(*frames, SETTINGS)
    with clock() as time:
        pass_at_kt.estimate(*frames, SETTINGS)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    name = f"Pass@(k,T), {TASKS} tasks x {EPISODES} episodes x {T_MAX} budgets, {DRAWS} draws"
    return [
        Row(
            name,
            "s",
            time.wall,
            bar=f"< {BAR_SECONDS:g} s",
            met=time.wall < BAR_SECONDS,
            details={"processor_seconds": time.processor},
        ),
        Row("- peak memory", "GiB", peak, bar=f"< {BAR_GIB:g} GiB", met=peak < BAR_GIB),
    ]


if __name__ == "__main__":
    main(measure)
