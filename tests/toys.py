"""A world and a speaker small enough to foresee every move, for tests of what lies between them."""

from collections.abc import Sequence

from turnscope import draws
from turnscope.types import Action, Seat, Step, Task


class Hall:
    """Walk to the end of a hall by saying `go`; a step may slip, and `jump` is the end.

    The payload of the task gives `length`, `slip`, and `breaks`: the method that raises, with
    `step` and `key` at turn `at`.

    Args:
        opened: Collects every hall that is made.
    """

    def __init__(self, opened: list["Hall"] | None = None):
        self.closed = 0
        if opened is not None:
            opened.append(self)

    def reset(self, task: Task, seed: int) -> str:
        self.payload, self.seed, self.place, self.turn = task.payload, seed, 0, 0
        if self.payload.get("breaks") == "reset":
            raise OSError("the door\nis locked")
        return "at=0"

    def step(self, action: str) -> Step:
        if self.payload.get("breaks") == "step" and self.turn == self.payload["at"]:
            raise RuntimeError("the floor gave way")
        stays = draws.uniform(self.seed, self.turn) < self.payload.get("slip", 0.0)
        self.turn += 1
        if action == "jump":
            return Step("out", 0.0, True)
        self.place += action == "go" and not stays
        there = self.place >= self.payload["length"]
        return Step(f"at={self.place}", float(there), there, there, action in ("go", "wait"))

    def state_key(self) -> str:
        if self.payload.get("breaks") == "key" and self.turn == self.payload["at"]:
            raise KeyError("lost")
        return f"p{self.place}"

    def reseed(self, seed: int) -> None:
        if self.payload.get("breaks") == "reseed":
            raise ValueError("no other noise")
        self.seed = seed

    def close(self) -> None:
        self.closed += 1
        if self.payload.get("breaks") == "close":
            raise OSError("the door is stuck")


class Crowd(Hall):
    """Says texts of very different lengths and ends after `length` turns, whatever is said."""

    def reset(self, task: Task, seed: int) -> str:
        super().reset(task, seed)
        return "at=r0c0 " * (1 + task.payload["length"] % 4)

    def step(self, action: str):
        self.place += 1
        step = super().step(action)
        return step._replace(observation=" at=r1c1 hole=r2c2" * ((self.turn * 3 + self.place) % 5))


def hall(length: int = 3, name: str = "hall", **payload: object) -> Task:
    return Task(name, "test", "s", name, {"length": length, **payload}, length)


class Speaker:
    """A policy that says `go` with a probability, in turns of 1 to 4 tokens.

    What it says is a function of the seat's stream and the tokens said before, as that of a model.

    Args:
        go: The probability.
        seen: Collects (row, observation, limit, turns left) of each call, in order.
    """

    def __init__(self, go: float = 1.0, seen: list[tuple[int, str, int, int]] | None = None):
        self.go = go
        self.seen = [] if seen is None else seen

    def begin(self, seats: Sequence[Seat]) -> "Talk":
        return Talk(self, seats)


class Talk:
    def __init__(self, speaker: Speaker, seats: Sequence[Seat]):
        self.speaker, self.seats = speaker, seats
        self.said = [sum(len(turn.action_ids) for turn in seat.history) for seat in seats]

    def act(
        self, rows: Sequence[int], observations: Sequence[str], limits: Sequence[int]
    ) -> list[Action]:
        actions = []
        for row, text, limit in zip(rows, observations, limits, strict=True):
            seat = self.seats[row]
            self.speaker.seen.append((row, text, limit, seat.turns_left))
            bits = draws.mix(seat.policy_seed, self.said[row])
            number = min(limit, 1 + bits % 4)
            word = "go" if (bits >> 11) * 2.0**-53 < self.speaker.go else "wait"
            ids = [(bits >> (8 + 5 * place)) % 31 for place in range(number)]
            self.said[row] += number
            actions.append(Action(word, [len(text)], ids, [-0.5] * number))
        return actions
