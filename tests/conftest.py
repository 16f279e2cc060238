"""What every test leaves as it found it."""

import logging
from collections.abc import Iterator

import pytest

from tests.distribution import pytest_collection_modifyitems, pytest_xdist_make_scheduler

__all__ = ["pytest_collection_modifyitems", "pytest_xdist_make_scheduler"]  # pytest finds hooks here


@pytest.fixture(autouse=True)
def kept_logging() -> Iterator[None]:
    """A command that runs a broker in this process sends the broker's log to stderr, where `caplog` sees nothing."""
    broker = logging.getLogger("broker_core")
    handlers, propagate, level = broker.handlers[:], broker.propagate, broker.level
    yield
    broker.handlers[:], broker.propagate = handlers, propagate
    broker.setLevel(level)
