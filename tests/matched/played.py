"""Two policies that have played, for tests of the states that they are compared in."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from tests.toys import Hall, Speaker
from turnscope import sampling
from turnscope.environments import frozen_lake
from turnscope.matched.pair import SOURCES, Pair
from turnscope.matched.visits import Visits, read
from turnscope.policies import expert
from turnscope.types import Budget, Quality, Task, Turn

TURNS = 8
WHO = {"env": "frozen_lake", "model": "m", "policy": "rl-s0"}


def lake_pair(seed: int = 1, world: Any = frozen_lake) -> Pair:
    """A bungler against a better player on small, slippery lakes."""
    tasks = frozen_lake.tasks(3, train=0, test=12, sizes=[3, 4], slip=0.2)
    policies = {
        "base": expert.Policy(env="frozen_lake", skill=0.3),
        "trained": expert.Policy(env="frozen_lake", skill=0.8),
    }
    named = {task.task_id: task for task in tasks}
    budget = Budget(TURNS, 4)
    return Pair(world, frozen_lake.Environment, named, policies, budget, seed, 64, WHO)


def hall_pair(
    *tasks: Task, go: Sequence[float] = (0.5, 0.5), turns: int = 6, **hooks: Callable[..., Any]
) -> Pair:
    """Two speakers in halls; quality is a tenth of the place, of `go` that of the next one."""

    def quality(task: Task, state_key: str, action: str, left: int) -> Quality:
        place = int(state_key[1:])
        return Quality((place + (action == "go")) / 10, (place + 1) / 10)

    world: Any = SimpleNamespace(step_quality=quality, words=lambda: ["go", "wait"], **hooks)
    policies = dict(zip(SOURCES, map(Speaker, go), strict=True))
    named = {task.task_id: task for task in tasks}
    return Pair(world, Hall, named, policies, Budget(turns, 4), 1, 3, WHO)


def state(task_id: str = "hall", *said: str, **changes: Any) -> dict[str, Any]:
    """The state behind some actions in a hall that does not slip, of six turns."""
    places = [sum(word == "go" for word in said[:turn]) for turn in range(len(said) + 1)]
    known = {
        "place": 0,
        "task_id": task_id,
        "source": "base",
        "turn": len(said),
        "left": 6 - len(said),
        "errors": "wrong",
        "injected": False,
        "best": 0.2,
        "before": 0.3,
        "seed": 5,
        "solved": False,
        "decisive": True,
        "visits": 3,
        "weight": 4.5,
        "state_key": f"p{places[-1]}",
        "state_keys": [f"p{place}" for place in places[:-1]],
        "actions": list(said),
        "context_ids": [[4] for _ in said],
        "action_ids": [[1, 2] for _ in said],
    }
    return known | changes


def play(pair: Pair, folder: Path, episodes: int = 6) -> list[Visits]:
    """Play blind episodes of both policies and read their visits."""
    found = []
    for name in SOURCES:
        who = pair.who | {"policy": pair.who["policy"] if name == "trained" else name}
        judge = getattr(pair.world, "step_quality", None)
        tasks = list(pair.tasks.values())
        plan = sampling.Plan(pair.environment, tasks, pair.budget, episodes, 64, 1, 1.0, who, judge)
        paths = folder / f"{name}-episodes.parquet", folder / f"{name}-turns.parquet"
        sampling.write([plan], pair.policies[name], *paths)
        found.append(read(name, *paths, pair.budget))
    return found


def made_up(source: str, seed: int, tasks: int = 4, episodes: int = 12) -> Visits:
    """Visits that no policy made: actions are `bad` or `good`, states few or many."""
    random = np.random.Generator(np.random.PCG64(seed))
    rows = []
    for number in range(tasks):
        for sample in range(episodes):
            for turn in range(int(random.integers(1, TURNS + 1))):
                key = "s" if turn == 0 else f"k{random.integers(1 + number)}"
                said = "bad" if random.random() < 0.3 else "good"
                rows.append((f"t{number}", sample, turn, key, said))
    frame = pd.DataFrame(rows, columns=["task_id", "sample", "turn", "state_key", "action"])
    frame = frame.assign(observation="", reward=0.0, valid=True, best=0.5, success=False)
    frame = frame.assign(seed=7, left=TURNS - frame["turn"], file_row=range(len(frame)))
    tokens = pd.DataFrame({name: [[]] * len(frame) for name in ("context_ids", "action_ids")})
    columns = {str(name): frame[name].to_numpy(object) for name in frame}
    columns |= {name: frame[name].to_numpy() for name in ("turn", "left", "file_row", "sample")}
    return Visits(source, columns, tokens)


def bad_is_an_error(task: Task, turn: Turn, state_key: str, turns_left: int) -> list[str]:
    return ["wrong"] if turn.action == "bad" else []
