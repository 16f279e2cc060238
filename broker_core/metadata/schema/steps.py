"""Counts the steps of a comparison of two schemas, and of a check of all versions, to limit them. Pure."""

from __future__ import annotations

STEPS_MAX = 200_000  # some hundred milliseconds; two schemas with 1,000 fields take some thousand steps


ALL_VERSIONS = 10  # how many times as many steps a check of all versions may take as one comparison
BYTES_OF_STEP = 10  # bytes of a definition that take as long to parse as a step


class TooManySteps(Exception):
    """The comparison exceeds its limit of steps."""


class Steps:
    """`taken`: so far. A comparison takes them one by one, and its check takes the sum afterwards."""

    __slots__ = ("_most", "taken")

    def __init__(self, most: int) -> None:
        self._most = most
        self.taken = 0

    def take(self, count: int = 1) -> None:
        self.taken += count
        if self.taken > self._most:
            raise TooManySteps
