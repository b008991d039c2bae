"""Requests to the message service: people have identifiers that must be looked up first."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from turnscope.environments.bfcl._scenes import Asked, Call, Scene, choose, one

NAMES = ("ann", "bob", "dan", "eve", "gus", "joe", "kim")
WORDS = ("yes", "no", "hi", "ok")
PARAMETERS = {
    "get_user_id": ("user",),
    "message_login": ("user_id",),
    "send_message": ("receiver_id", "message"),
    "search_messages": ("keyword",),
    "delete_message": ("receiver_id",),
    "add_contact": ("user_name",),
}
KINDS = {
    "get_user_id": ("name",),
    "message_login": ("id",),
    "send_message": ("id", "word"),
    "search_messages": ("word",),
    "delete_message": ("id",),
    "add_contact": ("name",),
}
KNOWN, SENT = 4, 3
"""People, and messages sent so far."""
LAST = 9
"""Largest identifier."""


def identifier(number: int) -> str:
    """Write an identifier as the official class does."""
    return f"USR{number:03d}"


@dataclass
class World:
    """People, messages, and who is logged in."""

    people: dict[str, str]
    """Identifier of each name."""
    count: int
    """Number of the identifier given out last."""
    inbox: list[tuple[str, str]]
    """Receiver and word of each message, in order."""
    user: str | None

    def config(self) -> dict[str, Any]:
        """Return the configuration of the official class."""
        return {
            "user_map": dict(self.people),
            "user_count": self.count,
            "inbox": [{receiver: word} for receiver, word in self.inbox],
            "message_count": len(self.inbox),
            "current_user": self.user,
        }

    def ask(self, random: np.random.Generator) -> Asked:
        """Draw a request to one or two people, and do it."""
        asks = [self._introduce, self._login, self._speak]
        if self.user:
            asks += [self._tell, self._tell, self._withdraw, self._greet]
        return one(random, asks)(random)

    def _send(self, receiver: str, random: np.random.Generator) -> tuple[str, Call]:
        word = one(random, WORDS)
        self.inbox.append((receiver, word))
        return word, ("send_message", receiver, word)

    def _new(self, random: np.random.Generator) -> str:
        name = one(random, [name for name in NAMES if name not in self.people])
        self.count += 1
        self.people[name] = identifier(self.count)
        return name

    def _introduce(self, random: np.random.Generator) -> Asked:
        name = self._new(random)
        return Asked(f"add {name}", (("add_contact", name),))

    def _greet(self, random: np.random.Generator) -> Asked:
        name = self._new(random)
        word, call = self._send(self.people[name], random)
        return Asked(f"add {name} and tell {word}", (("add_contact", name), call))

    def _enter(self, name: str) -> Call:
        self.user = self.people[name]
        return ("message_login", self.user)

    def _login(self, random: np.random.Generator) -> Asked:
        name = one(random, [name for name in self.people if self.people[name] != self.user])
        return Asked(f"be {name}", (("get_user_id", name), self._enter(name)))

    def _speak(self, random: np.random.Generator) -> Asked:
        name, other = choose(random, list(self.people), 2)
        enter = self._enter(name)
        word, call = self._send(self.people[other], random)
        looks = (("get_user_id", name), ("get_user_id", other))
        return Asked(f"as {name} tell {other} {word}", (*looks, enter, call))

    def _tell(self, random: np.random.Generator) -> Asked:
        name = one(random, list(self.people))
        word, call = self._send(self.people[name], random)
        return Asked(f"tell {name} {word}", (("get_user_id", name), call))

    def _withdraw(self, random: np.random.Generator) -> Asked:
        words = [word for _, word in self.inbox]
        place = int(random.integers(len(self.inbox))) if self.inbox else -1
        receiver, word = self.inbox[place] if self.inbox else ("", "")
        if words.count(word) != 1 or receiver in [to for to, _ in self.inbox[place + 1 :]]:
            return self._tell(random)
        del self.inbox[place]
        calls = (("search_messages", word), ("delete_message", receiver))
        return Asked(f"withdraw {word}", calls)


def draw(random: np.random.Generator) -> World:
    """Draw people and what was sent to them."""
    count = int(random.integers(KNOWN + 1, LAST - 2))
    numbers = choose(random, range(1, count + 1), KNOWN)
    people = dict(zip(choose(random, NAMES, KNOWN), map(identifier, numbers), strict=True))
    inbox = [(one(random, list(people.values())), word) for word in choose(random, WORDS, SENT)]
    user = one(random, list(people.values())) if random.random() < 0.6 else None
    return World(people, count, inbox, user)


def pools(config: dict[str, Any]) -> dict[str, Any]:
    """List what can be mistaken for another."""
    ids = [*config["user_map"].values(), identifier(config["user_count"] + 1)]
    return {"name": NAMES, "word": WORDS, "id": ids}


SCENE = Scene(
    stratum="messages",
    parameters=PARAMETERS,
    kinds=KINDS,
    looks=frozenset({"get_user_id", "search_messages", "add_contact"}),
    draw=draw,
    pools=pools,
    slips=("add_contact you",),
)
