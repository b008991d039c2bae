"""The one loop that plays episodes: for base sampling, training, matched states, continuations."""

import logging
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from turnscope import guard
from turnscope.game import Game, Start
from turnscope.types import Action, Environment, Episode, Policy, Task, Turn

__all__ = ["Start", "in_batches", "prefix_of", "rollout"]

log = logging.getLogger(__name__)


def prefix_of(state: Mapping[str, Any]) -> tuple[Turn, ...]:
    """Rebuild the turns before a recorded state, to be replayed.

    Args:
        state: A record of table `states` or `pool`; what the environment said before each turn is
            not in it, and is found by replaying.
    """
    kept = (state[name] for name in ("state_keys", "actions", "context_ids", "action_ids"))
    return tuple(
        Turn("", key, action, 0.0, True, list(map(int, fed)), list(map(int, said)))
        for key, action, fed, said in zip(*kept, strict=True)
    )


def rollout(
    make_environment: Callable[[], Environment],
    starts: Sequence[Start],
    policy: Policy,
    stream: int = 0,
) -> list[Episode]:
    """Play one episode from each start, in lock-step.

    Every round asks the policy once, for all unfinished episodes, so that a sampler always sees
    the widest batch. An environment that raises, hangs or answers rubbish ends its own episode and
    no other: that failure is data. So is an episode that outgrows the context of the policy's
    model, which ends it as does its last token. A policy that raises ends the call: that failure
    is a broken job.

    Args:
        make_environment: Makes one environment; called once for each start.
        starts: Where the episodes begin.
        policy: Acts.
        stream: Names the policy's draws: equal streams give equal episodes, different streams
            give independent actions under the same noise of the environment.

    Returns:
        One episode for each start, in the same order.

    Raises:
        ValueError: A prefix does not lead to the states it records, or goes on behind the end.
    """
    posed = {id(start.task.payload): start.task for start in starts}
    before = {place: pickle.dumps(task.payload) for place, task in posed.items()}
    with ExitStack() as stack:
        call = stack.enter_context(guard.watching())
        games = [Game(start, make_environment, call) for start in starts]
        for game in games:
            stack.callback(game.close)
            game.begin()
        seats = [game.seat(stream) for game in games]
        conversation = policy.begin(seats)
        rows = [row for row, game in enumerate(games) if game.stop is None]
        while rows:
            for row in rows:
                seats[row].turns_left = games[row].turns_left
            actions = conversation.act(
                rows, [games[row].told() for row in rows], [games[row].limit() for row in rows]
            )
            moves = [
                (games[row], action and _storable(action))
                for row, action in zip(rows, actions, strict=True)
            ]
            _ahead([(game, action) for game, action in moves if action is not None], call)
            for game, action in moves:
                if action is None:
                    game.outgrow()
                else:
                    game.play(action)
            rows = [row for row in rows if games[row].stop is None]
    changed = {place for place, task in posed.items() if _restored(task, before[place])}
    for game in games:
        if id(game.start.task.payload) in changed:
            game.fail(ValueError("the environment changed its task"))
    return [game.episode() for game in games]


def in_batches(
    make_environment: Callable[[], Environment],
    starts: Sequence[Start],
    policy: Policy,
    size: int,
    stream: int = 0,
) -> Iterator[list[Episode]]:
    """Play some episodes side by side, then the next ones, so that memory holds one batch.

    Args:
        make_environment: See `rollout`, as for the others.
        starts: Where the episodes begin.
        policy: Acts.
        size: Episodes played side by side, >= 1.
        stream: Names the policy's draws.

    Yields:
        The episodes of each batch, in order of their starts.
    """
    for at in range(0, len(starts), size):
        yield rollout(make_environment, starts[at : at + size], policy, stream)


def _storable(action: Action) -> Action:
    """Replace what is no Unicode in what a policy said: no table could hold it."""
    text = action.text.encode(errors="replace").decode()
    return action if text == action.text else replace(action, text=text)


def _restored(task: Task, before: bytes) -> bool:
    """Give a task back what an environment has changed; tell whether anything was."""
    if pickle.dumps(task.payload) == before:
        return False
    payload = pickle.loads(before)
    if task.payload == payload:
        return False
    task.payload.clear()
    task.payload.update(payload)
    return True


def _ahead(moves: Sequence[tuple[Game, Action]], call: guard.Call) -> None:
    """Show an environment all actions of a round, if it can prepare for several at a time."""
    prepare = getattr(moves[0][0].environment, "ahead", None) if moves else None
    if prepare is None:
        return
    try:
        asked = [(game.environment, action.text) for game, action in moves]
        call(prepare, asked, answers=len(asked))
    except Exception as failure:  # noqa: BLE001 - each episode will meet it by itself
        log.warning("no actions were prepared: %s", guard.described(failure))
