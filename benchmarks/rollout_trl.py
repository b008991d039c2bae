"""Episodes per second: our rollout against TRL's own multi-turn generation.

Both sides play the same lakes with one nano checkpoint that was taught to call the tool, with
equal prompts, G and T, and show it the same tokens, which is checked. TRL encodes the whole
history anew in every turn. Two conditions: 512 episodes at once, as many as the default study
plays side by side, and 128, a training step of the default study.

In TRL's favour: the policy has learnt to stop calling when the episode is over (TRL cannot end
it), the tokens of a turn are capped, only `_generate` is timed and not the reset of environments.
TRL generates once more after the last turn of an episode, and leaves episodes early where a call is
malformed. So the ratio is also given by turns that count, and by all turns generated, as if that
last one were of use. In our favour: prompts that are equal within a group are encoded
once. Replies are short and the model is small; with long replies from a large model, generation
itself dominates and the ratio shrinks.
"""

import tempfile
from pathlib import Path
from typing import Any

from benchmarks import calls, stock
from benchmarks.rows import Row, Time, alternate, clock, compare, main
from turnscope import draws
from turnscope.rollout import Start, rollout
from turnscope.types import Budget

GROUP, ROUNDS = 16, 2
SIZES = {32: 10.0, 8: 10.0}
"""Tasks, and the ratio to be reached."""


def measure() -> list[Row]:
    """Measure all sizes."""
    with tempfile.TemporaryDirectory() as scratch:
        return [row for tasks, bar in SIZES.items() for row in _size(tasks, bar, Path(scratch))]


def _size(number: int, bar: float, scratch: Path) -> list[Row]:
    tasks = calls.tasks(number)
    model, words = calls.load(calls.checkpoint())
    made = stock.trainer(model, words, tasks, GROUP, number * GROUP, scratch)
    model.train()
    generation: list[Time] = []
    stock.timed(made, "_generate", generation)
    generated: list[int] = []
    stock.counted(made, "_generate_single_turn", generated)
    batch = [row for row in stock.rows(tasks) for _ in range(GROUP)]

    def other() -> dict[str, Any]:
        generated.clear()
        made._generate_and_score_completions(batch)
        solved = sum(tool.solved for tool in made.environments or [])
        turns = {"turns": stock.turns(made), "generated": sum(generated)}
        return {"time": generation[-1], "solved": solved} | turns

    policy = calls.policy(*calls.load(calls.checkpoint()))
    budget = Budget(calls.TURNS, calls.TURN_TOKENS)
    rounds = iter(range(ROUNDS + 1))
    played = []

    def ours() -> dict[str, Any]:
        stream = next(rounds)
        starts = [
            Start(task, member, draws.seed("bench", task.task_id, member, stream), budget)
            for task in tasks
            for member in range(GROUP)
        ]
        with clock() as time:
            episodes = rollout(calls.Environment, starts, policy, stream)
        played[:] = episodes
        solved = sum(bool(episode.success) for episode in episodes)
        turns = sum(len(episode.turns) for episode in episodes)
        return {"time": time, "solved": solved, "turns": turns, "generated": turns}

    a, b = alternate([ours, other], ROUNDS)
    episodes = number * GROUP
    details: dict[str, Any] = {
        key: {"ours": [x[key] for x in a], "other": [x[key] for x in b]}
        for key in ("turns", "generated", "solved")
    }
    some = played[:: max(1, len(played) // 32)]
    details["turns_with_equal_tokens"] = stock.check(made, tasks, some)
    times = [x["time"] for x in a], [x["time"] for x in b]

    def row(what: str, unit: str, least: float | None, *amount: float) -> Row:
        return compare(
            f"{what}, {episodes} at once, against TRL",
            *times,
            amount=(amount[0], amount[1]),
            unit=unit,
            least=least,
            details=details,
        )

    def mean(key: str) -> list[float]:
        return [sum(x[key] for x in side) / ROUNDS for side in (a, b)]

    return [
        row("rollout", "episodes/s", bar, episodes, episodes),
        row("- by turns that count", "turns/s", None, *mean("turns")),
        row("- by turns generated", "turns/s", None, *mean("generated")),
    ]


if __name__ == "__main__":
    main(measure)
