"""States that were chosen from episodes are reached again, and actions tried there graded again."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from turnscope import registry
from turnscope.audits._recorded import Recorded, attempts, chosen, differing
from turnscope.audits._results import Finding, Record, Results, Settings, each
from turnscope.rollout import Start, prefix_of, rollout
from turnscope.types import Budget, Episode, Task, Turn

TABLES = ("states", "pool")
"""Tables that hold states with the actions that led there."""
COPIED = ("task_id", "source", "turn", "left", "errors", "injected", "decisive", "visits")
"""What tables of a pool's actions repeat of its states."""

Row = dict[str, Any]


def check(results: Results, settings: Settings, counts: list[int]) -> list[Finding]:
    """Play a sample of all recorded states again; their number goes to `counts`."""
    found: list[Finding] = []
    for name in TABLES:
        found += each(
            results.tables(name),
            lambda one, name=name: _states(results, one[0], one[1], name, settings, counts),
        )
    return found


def _states(
    results: Results, record: Record, path: str, name: str, settings: Settings, counts: list[int]
) -> Iterator[Finding]:
    rows = results.arrow(path, name)
    places = chosen(settings, record.mark, len(rows))
    counts.append(len(places))
    states: list[Row] = rows.take(places).to_pylist()
    tasks = results.known(str(record.input("tasks")))
    tried: dict[int, list[Row]] = {}
    if name == "pool":
        for row in results.arrow(str(record.output("actions")), "actions").to_pylist():
            tried.setdefault(row["place"], []).append(row)
    for state in states:
        yield from _state(record, path, state, tasks, tried.get(state.get("place", -1), []))


def _state(
    record: Record, path: str, state: Row, tasks: dict[str, Task], tried: list[Row]
) -> Iterator[Finding]:
    named = f"task {state['task_id']}, sample {state['sample']}, turn {state['turn']}"
    world = registry.load("environments", record.spec["env"])
    if len(state["actions"]) != state["turn"]:
        yield Finding("state", path, f"{named}: {len(state['actions'])} actions lead there")
        return
    why: str | None = None
    for _ in range(attempts(world)):
        try:
            why = _other(record.spec, world, tasks[state["task_id"]], state, tried)
        except ValueError as error:
            why = str(error)
        if why is None:
            return
    yield Finding("state", path, f"{named}: {why}")


def _play(spec: Row, world: Any, task: Task, state: Row, said: list[str]) -> list[Episode]:
    """Go to a state once for each action that was tried there, and say it."""
    budget = Budget(**{**spec["budget"], "turns": state["turn"] + 1, "told": False})
    start = Start(
        task,
        state["sample"],
        state["seed"],
        budget,
        prefix_of(state),
        state_key=state["state_key"],
    )
    turns = [[Turn("", "", text, 0.0, True)] for text in said or world.words()[:1]]
    make = partial(world.Environment, **spec["options"])
    return rollout(make, [start] * len(turns), Recorded(turns))


def _other(spec: Row, world: Any, task: Task, state: Row, tried: list[Row]) -> str | None:
    """Say what came out otherwise; None if nothing did."""
    episodes = _play(spec, world, task, state, [row["action"] for row in tried])
    for episode in episodes:
        if episode.error:
            return f"the environment failed: {episode.error}"
    judge: Any = getattr(world, "step_quality", None)
    for row, episode in zip(tried, episodes, strict=False):
        turn = episode.turns[-1]
        graded = judge and judge(task, turn.state_key, turn.action, state["left"])
        now = {name: state[name] for name in COPIED}
        now |= {"valid": turn.valid, "quality": graded.value if graded else None}
        if why := differing(row, now, now):
            return f"action {turn.action!r}: {why}"
    return None
