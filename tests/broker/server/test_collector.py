"""The garbage collector of a broker's process: short pauses, and no cycle is kept forever."""

import subprocess
import sys
import time

from broker_core.server.idle_work import Idleness

OBJECTS = 1_000_000
LIMIT_SECONDS = 0.05

PAUSES = f"""
import gc, time
from broker_core.server.collector import Collector

longest, began = 0.0, 0.0

def watch(phase, info):
    global longest, began
    if phase == "start":
        began = time.thread_time()
    else:
        longest = max(longest, time.thread_time() - began)

collector = Collector()
collector.start()
gc.callbacks.append(watch)
kept = [[number] for number in range({OBJECTS})]
print(longest, gc.get_freeze_count())
"""

CYCLES = """
import gc, weakref
from broker_core.server.collector import GROWTH_BYTES, Collector

class Node:
    pass

resident = 0
collector = Collector(lambda: resident)
collector.start()
node = Node()
node.itself = node
gc.freeze()
gone = weakref.ref(node)
del node
gc.collect()
kept = gone() is not None
resident = GROWTH_BYTES + 1
collector.look(idle=False)
print(kept, gone() is None)
"""


SOON = """
import gc
from broker_core.server.collector import Collector

Collector().start()
before = gc.get_freeze_count()
for number in range(1_000_000):
    cycle = [number]
    cycle.append(cycle)
gc.collect()
print(gc.get_freeze_count() - before < 100, len(gc.get_objects()) < 10_000)
"""


def run(program: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.split()


def test_no_collection_takes_long_however_many_objects_live() -> None:
    longest, frozen = run(PAUSES)
    assert float(longest) < LIMIT_SECONDS
    assert int(frozen) > OBJECTS // 2


def test_a_frozen_cycle_is_freed_once_memory_has_grown() -> None:
    assert run(CYCLES) == ["True", "True"]


def test_cycles_that_come_and_go_are_not_frozen() -> None:
    assert run(SOON) == ["True", "True"]


def test_a_process_that_computes_is_not_idle() -> None:
    idleness = Idleness()
    used = time.process_time()
    while time.process_time() - used < 0.02:
        pass
    assert not idleness.look()
