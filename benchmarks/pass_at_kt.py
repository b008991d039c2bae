"""Time and memory of Pass@(K,T) with intervals, bands and tests, at the size of the default study.

Run by hand: `OMP_NUM_THREADS=1 PYTHONPATH=src python -m benchmarks.pass_at_kt`
"""

import resource
import time

from tests.simulated import study

from turnscope.metrics import Settings, pass_at_kt

TASKS, EPISODES, T_MAX, DRAWS = 500, 32, 20, 10_000
BAR_SECONDS, BAR_GIB = 2.0, 1.0
SETTINGS = Settings(
    ks=[1, 2, 4, 8, 16, 32], k=8, shares=[j / 10 for j in range(1, 11)], draws=DRAWS, seed=1
)


def measure() -> dict[str, float]:
    """Estimate everything for four policies and their arm.

    Returns:
        Wall-clock and processor seconds of the second of two runs (the first pays for imports),
        and the peak memory of the whole process, GiB.
    """
    frames = study(1, tasks=TASKS, episodes=EPISODES, t_max=T_MAX)
    pass_at_kt.estimate(*frames, SETTINGS)
    wall, processor = time.perf_counter(), time.process_time()
    pass_at_kt.estimate(*frames, SETTINGS)
    return {
        "seconds": time.perf_counter() - wall,
        "processor_seconds": time.process_time() - processor,
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def main() -> None:
    """Print the measurement beside the bars."""
    found = measure()
    print(f"Pass@(k,T): {TASKS} tasks x {EPISODES} episodes x {T_MAX} budgets, {DRAWS} draws")
    print(f"  seconds   {found['seconds']:.2f} (bar {BAR_SECONDS:.0f})")
    print(f"  processor {found['processor_seconds']:.2f}")
    print(f"  peak GiB  {found['peak_gib']:.2f} (bar {BAR_GIB:.0f})")


if __name__ == "__main__":
    main()
