"""What every test leaves as it found it."""

import gc
import logging
from collections.abc import Generator, Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.support.distribution import pytest_collection_modifyitems, pytest_xdist_make_scheduler

# Hypothesis measures wall time, which says nothing about a test on a busy machine.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")
settings.register_profile("quick", settings.get_profile("any machine"), max_examples=20)  # `make quick`; CI runs all

__all__ = ["pytest_collection_modifyitems", "pytest_xdist_make_scheduler"]  # pytest finds hooks here


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keeps the collector from searching the modules and items, which live until the end, over and over."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(autouse=True)
def kept_logging() -> Iterator[None]:
    """A command that runs a broker in this process sends the broker's log to stderr, where `caplog` sees nothing."""
    broker = logging.getLogger("broker_core")
    handlers, propagate, level = broker.handlers[:], broker.propagate, broker.level
    yield
    broker.handlers[:], broker.propagate = handlers, propagate
    broker.setLevel(level)
