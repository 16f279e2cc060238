"""A thread beside a test that ends with its context."""

import threading
from typing import Self

JOIN_SECONDS = 120


class Worker:
    """`turn` is repeated until the end. The context fails if the thread failed."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=type(self).__name__)
        self._error: Exception | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """May be called again."""
        self.ended.set()
        self._thread.join(JOIN_SECONDS)
        assert not self._thread.is_alive()
        assert self._error is None, self._error

    def work(self) -> None:
        while not self.ended.is_set():
            self.turn()

    def turn(self) -> None:
        raise NotImplementedError

    def _run(self) -> None:
        try:
            self.work()
        except Exception as error:  # the test reports it
            self._error = error
