"""Freed memory goes back to the system."""

import subprocess
import sys

import pytest

from broker_core.server.allocator import Trimmer, trimmer

PROGRAM = """
import os
from broker_core.server.allocator import trimmer
from tests.long.bench.procfs import resident_mb

large, kept = [b"x" * 1_500_000], []
large.clear()  # from here on, glibc keeps buffers of this size
for _ in range(100):
    large.append(b"x" * 1_500_000)
    kept.append(bytes(5_000))  # small ones in between keep the heap from shrinking
large.clear()
before = resident_mb(os.getpid())
trimmer()(1)
print(before - resident_mb(os.getpid()))
"""


@pytest.mark.skipif(trimmer() is None, reason="the calls are those of glibc 2.33")
def test_trimming_returns_large_buffers_that_were_freed() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True)
    assert float(done.stdout) > 100


def test_memory_is_not_trimmed_again_before_it_has_grown() -> None:
    trimmed: list[int] = []
    resident = 200

    def trim() -> None:
        nonlocal resident
        trimmed.append(resident)
        resident = 150

    trims = Trimmer(trim, lambda: 60, lambda: resident)
    trims(50)
    trims(50)
    resident = 199
    trims(50)
    assert trimmed == [200]
    resident = 201
    trims(50)
    assert trimmed == [200, 201]


def test_what_is_freed_after_a_trimming_is_given_back_too() -> None:
    trimmed: list[int] = []
    free = 60
    trims = Trimmer(lambda: trimmed.append(free), lambda: free, lambda: 200)
    trims(50)
    trims(50)
    free = 260
    trims(50)
    trims(50)
    assert trimmed == [60, 260]


def test_memory_in_use_is_not_trimmed() -> None:
    trimmed: list[int] = []
    Trimmer(lambda: trimmed.append(1), lambda: 49, lambda: 200)(50)
    assert not trimmed
