"""The threads of bulk work: their order, their bound, their errors, and their end."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pulsarctl.admin.client import AdminClient
from pulsarctl.bulk.crew import Crew
from pulsarctl.errors import CannotConnect, CliError, NotFound
from pulsarctl.settings.settings import Settings, resolve


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return resolve({"no_context": True}, {"HOME": str(tmp_path)}, tmp_path)


def test_outcomes_come_in_the_order_of_the_items(settings: Settings) -> None:
    first_may_end = threading.Event()

    def act(_: AdminClient, item: int) -> int:
        if item == 0:
            first_may_end.wait(10)
        elif item == 3:
            first_may_end.set()
        return item * 2

    with Crew(settings, 4) as crew:
        assert list(crew.results(range(20), act)) == [2 * item for item in range(20)]


def test_no_more_than_the_bound_run_at_once_and_each_has_its_own_client(settings: Settings) -> None:
    running, most, clients, lock = 0, 0, set[int](), threading.Lock()
    everyone = threading.Barrier(3)

    def act(client: AdminClient, item: int) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            clients.add(id(client))
        if item < 3:
            everyone.wait(10)
        with lock:
            running -= 1

    with Crew(settings, 3) as crew:
        list(crew.act(range(30), act))
    assert (most, len(clients)) == (3, 3)


def test_few_items_are_taken_ahead(settings: Settings) -> None:
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        for item in range(1000):
            taken += 1
            yield item

    with Crew(settings, 2) as crew:
        next(crew.act(items(), lambda _, item: item))
    assert taken <= 8


def test_an_error_stops_no_other_item(settings: Settings) -> None:
    def act(_: AdminClient, item: int) -> int:
        if item == 1:
            raise NotFound("gone")
        return item

    with Crew(settings, 2) as crew:
        outcomes = list(crew.act(range(3), act))
    assert [(one.value, type(one.error)) for one in outcomes] == [
        (0, type(None)),
        (None, NotFound),
        (2, type(None)),
    ]


def test_after_a_lost_connection_no_further_item_is_tried(settings: Settings) -> None:
    tried: list[int] = []

    def act(_: AdminClient, item: int) -> None:
        tried.append(item)
        raise CannotConnect("no broker")

    with Crew(settings, 2) as crew:
        outcomes = list(crew.act(range(500), act))
    assert len(outcomes) == 500
    assert all(isinstance(one.error, CannotConnect) for one in outcomes)
    assert len(tried) <= 8


def test_results_raise_the_first_error(settings: Settings) -> None:
    def act(_: AdminClient, item: int) -> int:
        raise CliError(f"no {item}")

    with Crew(settings, 2) as crew, pytest.raises(CliError, match="no 0"):
        list(crew.results(range(3), act))


def test_a_dry_run_has_one_thread_so_that_requests_are_printed_in_order(tmp_path: Path) -> None:
    settings = resolve({"no_context": True, "dry_run": True}, {"HOME": str(tmp_path)}, tmp_path)
    with Crew(settings, 16) as crew:
        assert crew.size == 1
