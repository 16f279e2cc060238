"""Back-pressure of the storage engine: bytes accepted that are not yet in the journal and in a ledger file.

Code that produces these bytes stops reading from its producers while `over` is true and resumes at `on_relief`.
"""

from collections.abc import Callable

RUN_COST = 400  # bytes of objects per run on its way to the journal, beside its record


class Pressure:
    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.bytes = 0
        self._relief: list[Callable[[], None]] = []

    @property
    def over(self) -> bool:
        return self.bytes > self.limit

    def on_relief(self, callback: Callable[[], None]) -> None:
        """Calls `callback` once, on the loop, when the bytes are below half of the limit (at once if they are now)."""
        if 2 * self.bytes <= self.limit:
            callback()
        else:
            self._relief.append(callback)

    def add(self, size: int) -> None:
        self.bytes += size

    def release(self, size: int) -> None:
        self.bytes -= size
        if self._relief and 2 * self.bytes <= self.limit:
            callbacks, self._relief = self._relief, []
            for callback in callbacks:
                callback()
