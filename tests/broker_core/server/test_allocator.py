"""Freed memory goes back to the system."""

import subprocess
import sys

import pytest

from broker_core.server.allocator import trimmer

PROGRAM = """
import os
from broker_core.server.allocator import trimmer
from tests.bench.procfs import resident_mb

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
