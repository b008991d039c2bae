"""Short requests to three official API classes, from which `nano` can learn to call functions.

A problem has 1 to 3 requests of a few words. What a request needs and does not say is in an output:
the folder of a file, the identifier of a person, the fuel in the tank, or an error. So one must
look first and then act::

    rename plan as memo
    find / plan                          matches /docs/plan
    cd / ; cd docs ; mv plan memo        ...
    done

Two drawn values that stand together in one call (`mv plan memo`) are a pair. Pairs are kept apart:
`_catalogue.HELD_OUT` of them are for test, in every study. A train problem has train pairs only, a
test problem held-out ones only, and a problem without pairs belongs to one split by its solution.
So no test problem has the solution of a train problem.
What the expert says by mistake has pairs of the problem's own split, too.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from turnscope import draws
from turnscope.environments.bfcl._catalogue import SCENES, scene_of, split_of
from turnscope.environments.bfcl._plans import following, slips, turns
from turnscope.environments.bfcl._scenes import World, compact, official
from turnscope.environments.bfcl.compact import DONE

CLASSES = tuple(SCENES)
REQUESTS = 3
"""Most requests of a problem."""
LONGEST = 9
"""Most turns that the expert needs without a mistake."""
ATTEMPTS = 1000
"""Draws before a problem is declared impossible to find."""
SLIPS = 0.6
"""How often an expert without skill errs."""


class Problem(NamedTuple):
    """Requests, and all that is needed to judge what is done about them."""

    name: str
    split: str
    stratum: str
    payload: dict[str, Any]
    """See `turnscope.environments.bfcl`."""


def problems(
    seed: int, split: str, number: int, classes: Sequence[str] = CLASSES
) -> Iterator[Problem]:
    """Draw problems of one split, the classes in turn.

    Args:
        seed: Names the set.
        split: `train` or `test`.
        number: How many; all are different.
        classes: Some of `CLASSES`.

    Raises:
        ValueError: A class is unknown, or there are not that many problems.
    """
    if not classes or not {*classes} <= {*CLASSES}:
        raise ValueError(f"classes are {[*classes]}; legal are some of {', '.join(CLASSES)}")
    seen: set[str] = set()
    for place in range(number):
        name = classes[place % len(classes)]
        random = np.random.Generator(np.random.PCG64(draws.seed(seed, split, place)))
        payload = _drawn(random, name, split, seen)
        yield Problem(f"{split}-{place:05d}", split, SCENES[name].stratum, payload)


def _drawn(random: np.random.Generator, name: str, split: str, seen: set[str]) -> dict[str, Any]:
    """Draw a payload of one split that was not drawn before."""
    for _ in range(ATTEMPTS):
        payload = _candidate(random, name)
        asked = payload["requests"]
        text = json.dumps([payload["config"], asked], sort_keys=True)
        # What was asked before may be done already.
        if len({*asked}) < len(asked) or turns(payload) > LONGEST:
            continue
        if text not in seen and split_of(payload) == split:
            seen.add(text)
            return payload
    raise ValueError(f"found no new problem of {name} for {split}; ask for fewer tasks")


def _candidate(random: np.random.Generator, name: str) -> dict[str, Any]:
    scene = SCENES[name]
    world: World = scene.draw(random)
    config = world.config()
    asked = [world.ask(random) for _ in range(int(random.integers(1, REQUESTS + 1)))]
    return {
        "category": "base",
        "requests": [one.text for one in asked],
        "classes": [name],
        "config": {name: config},
        "functions": list(scene.parameters),
        "held": {},
        "gold": [[official(scene, call) for call in one.calls] for one in asked],
    }


def expert(
    payload: dict[str, Any],
    request: int,
    done_calls: Sequence[str],
    said: Sequence[str],
    seed: int,
    turn: int,
    skill: float,
    turns_left: int,
) -> str:
    """Say the gold calls up to the next output that they need, or else a mistake.

    Args:
        payload: The problem.
        request: Number of the present request, from 0.
        done_calls: Calls of this request so far, as the official checker reads them.
        said: Their outputs.
        seed: Names the expert's draws, together with `turn`.
        turn: Number of the turn, from 0.
        skill: 1 makes no mistakes, 0 makes one in `SLIPS` of the turns.
        turns_left: Does not matter.

    Raises:
        ValueError: The problem comes from elsewhere.
    """
    now = following(payload, request, done_calls, said)
    if draws.uniform(seed, 2 * turn) < SLIPS * (1 - skill):
        wrong = slips(payload, request, now)
        if wrong:
            return wrong[int(draws.uniform(seed, 2 * turn + 1) * len(wrong))]
    return compact(now) or DONE


def words() -> list[str]:
    """List responses that can be said in every problem of `VehicleControlAPI`.

    They end with a call without arguments, so that a letter more or less names no function.
    """
    calls = ("setHeadlights on", "startEngine START")
    return [DONE, "releaseBrakePedal", *(f"{call} ; releaseBrakePedal" for call in calls)]


def mistakes(payload: dict[str, Any], request: int, kept: Sequence[str]) -> list[str]:
    """List responses, all different, that may be worse than the best one; most are.

    Args:
        payload: The problem.
        request: Number of the present request, from 0.
        kept: Calls of this request that mattered, as the official checker reads them.

    Raises:
        ValueError: The problem comes from elsewhere.
    """
    now = following(payload, request, kept, [""] * len(kept))
    return [*dict.fromkeys([*slips(payload, request, now), *scene_of(payload).slips])]
