"""What waits to be sent to one client: put in by any thread, taken out on the event loop, and never too much.

What a thread hands to an event loop that is busy waits there in a list without end. So things wait here, and the loop
is only told that there are some.
"""

import asyncio
import threading
from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class FellBehind(Exception):
    """More was waiting than is kept for a client: all of it was dropped, and so is what comes after."""


class Outbox(Generic[Item]):
    """Holds so many items, and so much weight of them, at most; one alone may weigh more."""

    def __init__(self, most_items: int, most_weight: int) -> None:
        self._most_items, self._most_weight = most_items, most_weight
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._items: deque[tuple[Item, int]] = deque()
        self._weight = 0
        self._too_many = False
        self._filled = asyncio.Event()
        self._told = False
        self.behind = asyncio.Event()

    def put(self, item: Item, weight: int, *, instead: bool = False) -> None:
        """Put an item in; `instead` of all that waits, if that is superfluous by it."""
        with self._lock:
            if self._too_many:
                return
            if instead:
                self._clear()
            if self._items and (len(self._items) >= self._most_items or self._weight + weight > self._most_weight):
                self._clear()
                self._too_many = True
                self._loop.call_soon_threadsafe(self.behind.set)
            else:
                self._items.append((item, weight))
                self._weight += weight
            self._tell()

    @property
    def items(self) -> int:
        """How many wait."""
        return len(self._items)

    @property
    def weight(self) -> int:
        """How much they weigh."""
        return self._weight

    @property
    def fullness(self) -> float:
        """1: one more is too many."""
        return max(self.items / self._most_items, self.weight / self._most_weight)

    async def take(self) -> Item:
        """The next item, as soon as there is one; raises FellBehind if there have been too many."""
        while True:
            with self._lock:
                if self._too_many:
                    raise FellBehind
                if self._items:
                    item, weight = self._items.popleft()
                    self._weight -= weight
                    return item
                self._filled.clear()
                self._told = False
            await self._filled.wait()

    def _clear(self) -> None:
        self._items.clear()
        self._weight = 0

    def _tell(self) -> None:
        """Once, until somebody has looked."""
        if not self._told:
            self._told = True
            self._loop.call_soon_threadsafe(self._filled.set)
