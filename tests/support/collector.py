"""Tests of what is freed at once, without the garbage collector, which would find cycles late."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def collector_off() -> Iterator[None]:
    """Frees the cycles of earlier tests first."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
