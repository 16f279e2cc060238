"""A few threads, each with its own connection to the admin API, that act on many things."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from queue import SimpleQueue
from types import TracebackType
from typing import Generic, Self, TypeVar

from pulsarctl.admin.client import AdminClient
from pulsarctl.errors import CannotConnect, CliError
from pulsarctl.settings.settings import Settings

Item = TypeVar("Item")
Found = TypeVar("Found")
PARALLEL_DEFAULT = 8
PARALLEL_MAX = 256


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Item, Found]):
    """The outcome of one item: its value, or the error."""

    item: Item
    value: Found | None = None
    error: CliError | None = None


class Crew:
    """At most `parallel` requests run at a time, each limited by the request timeout of the settings.

    With `--dry-run` there is one thread, so that the requests are printed in order.
    """

    def __init__(self, settings: Settings, parallel: int = PARALLEL_DEFAULT) -> None:
        self.size = 1 if settings.dry_run else parallel
        self._clients: SimpleQueue[AdminClient] = SimpleQueue()  # a thread takes one for each item
        self._all = [AdminClient(settings) for _ in range(self.size)]
        for client in self._all:
            self._clients.put(client)
        self._threads = ThreadPoolExecutor(self.size, thread_name_prefix="bulk")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._threads.shutdown(cancel_futures=True)
        for client in self._all:
            client.close()

    def act(
        self, items: Iterable[Item], action: Callable[[AdminClient, Item], Found]
    ) -> Iterator[Outcome[Item, Found]]:
        """The outcomes in the order of the items. A few items are taken ahead, so that no thread waits.

        An error of one item does not stop the others, except that no further item is tried once a broker could not be
        reached: the others would fail the same way, each after its timeout.
        """
        waiting = iter(items)
        under_way: deque[tuple[Item, Future[Outcome[Item, Found]]]] = deque()
        lost: CliError | None = None
        while True:
            ahead = 0 if lost is not None else self.size * 4 - len(under_way)
            under_way.extend((item, self._threads.submit(self._try, action, item)) for item in islice(waiting, ahead))
            if not under_way:
                break
            item, future = under_way.popleft()
            outcome: Outcome[Item, Found]
            outcome = Outcome(item, error=lost) if lost is not None and future.cancel() else future.result()
            lost = lost or (outcome.error if isinstance(outcome.error, CannotConnect) else None)
            yield outcome
        for item in waiting:
            yield Outcome(item, error=lost)

    def results(self, items: Iterable[Item], action: Callable[[AdminClient, Item], Found]) -> Iterator[Found]:
        """The values in the order of the items. Raises the first error."""
        for outcome in self.act(items, action):
            if outcome.error is not None:
                raise outcome.error
            yield outcome.value  # type: ignore[misc]  # without an error there is a value

    def _try(self, action: Callable[[AdminClient, Item], Found], item: Item) -> Outcome[Item, Found]:
        client = self._clients.get()
        try:
            return Outcome(item, action(client, item))
        except CliError as error:
            return Outcome(item, error=error)
        finally:
            self._clients.put(client)
