"""Closes what a test opened."""

from collections.abc import Iterator

import pytest

from tests.support.secured import close_clients


@pytest.fixture(autouse=True)
def closed_clients() -> Iterator[None]:
    yield
    close_clients()
