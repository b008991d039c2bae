"""What was made lately, so that it need not be made again."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """At most so many values; the one that was asked for longest ago goes first.

    Args:
        most: How many, >= 1.
    """

    def __init__(self, most: int):
        self._most = most
        self._known: OrderedDict[Key, Value] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return the value of a key, which is made unless it is known; nothing is kept if it fails.

        Args:
            key: Names the value.
            make: Makes it.
        """
        found = self._known[key] if key in self._known else make()
        self._known[key] = found
        self._known.move_to_end(key)
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return found
