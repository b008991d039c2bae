"""How good a response is, and which responses are errors.

The quality of a response is how far its request is done after it: the mean of the share of public
attributes that are as the solution leaves them, and of the share of the outputs of the solution
that were got so far. It is of the state as it is, not of what can still be made of it.
"""

from collections.abc import Iterator

from turnscope.environments.bfcl import calls, small_requests, trajectory
from turnscope.environments.bfcl.problems import Exercise, exercise
from turnscope.types import Quality, Task, Turn

ERRORS = {
    "wasted": "it could not be read",
    "early": "it ends a request that is not done",
    "idle": "its calls change nothing, and return nothing that is needed",
    "harm": "fewer attributes than before are as the solution leaves them",
}
"""That a call returns an error is none by itself: some say what must be done first."""
IMMEDIATE = True
"""A quality is of a response by itself; the best is always 1."""


def step_quality(task: Task, state_key: str, action: str, turns_left: int) -> Quality:
    """Grade a response by how far its request is done after it; 0 if it cannot be read.

    Args:
        task: The task.
        state_key: State before it; a response that ends the request is graded by it.
        action: What the policy said.
        turns_left: Turns of the budget not yet used; does not matter.
    """
    asked, place = exercise(task), trajectory.parse(state_key)
    heard = asked.heard(action)
    if heard.calls is None:
        return Quality(0.0, 1.0)
    stand = trajectory.rebuild(asked, place)
    if heard.calls:
        stand = trajectory.respond(asked, stand, heard.calls).stand
    return Quality(trajectory.done(asked, stand), 1.0)


def errors(task: Task, turn: Turn, state_key: str, turns_left: int) -> list[str]:
    """Name the definitions of `ERRORS` that a turn meets.

    Args:
        task: The task.
        turn: The response and the state before it.
        state_key: State after it.
        turns_left: Does not matter.
    """
    asked, place = exercise(task), trajectory.parse(turn.state_key)
    heard = asked.heard(turn.action)
    stand = trajectory.rebuild(asked, place)
    met = {"wasted": bool(heard.fault)}
    if heard.calls:
        after = trajectory.respond(asked, stand, heard.calls).stand
        met["idle"] = after.state.digest == stand.state.digest and after.got == stand.got
        met["harm"] = trajectory.agreement(asked, after) < trajectory.agreement(asked, stand)
    elif heard.calls is not None:
        met["early"] = trajectory.done(asked, stand) < 1
    return [name for name in ERRORS if met.get(name)]


def mistakes(task: Task, state_key: str, turns_left: int) -> list[str]:
    """List responses after which the request is not done, in the state of that key."""
    asked, place = exercise(task), trajectory.parse(state_key)
    if place.over:
        return []
    return [
        text
        for text in dict.fromkeys(_tempting(asked, place))
        if (found := step_quality(task, state_key, text, turns_left)).value < found.best
    ]


def _tempting(asked: Exercise, place: trajectory.Place) -> Iterator[str]:
    """Yield responses that may be mistakes."""
    request, known = place.request, asked.signatures
    if asked.small:
        texts = small_requests.mistakes(asked.payload, request, place.kept[-1] or ())
        for text in [*texts, *small_requests.words()]:
            if not isinstance(calls.parse(text, "compact", known), calls.Fault):
                yield asked.said(text)
        return
    yield calls.spell([], asked.form, known)
    for number, gold in enumerate(asked.payload["gold"]):
        made = [calls.from_python(text, known) for text in gold]
        shorter = [made[:left] + made[left + 1 :] for left in range(len(made))]
        for some in shorter if number == request else [made]:
            try:
                yield calls.spell(some, asked.form, known)
            except ValueError:
                continue  # a format may lack words for it
