"""What a task does: it travels to the executors with its work."""

import gc
from collections.abc import Callable
from functools import cache
from typing import Generic, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


class Task(Generic[Part, Result]):
    """A function for Spark that does `work`, which is pickled."""

    def __init__(self, work: Callable[[Part], Result]) -> None:
        self._work = work

    def __call__(self, part: Part) -> Result:
        freeze()
        return self._work(part)


@cache
def freeze() -> None:
    """Once in each worker: PySpark collects garbage after every task, and would look at all imported modules."""
    gc.freeze()
