"""Counts the steps of a comparison of two schemas, to limit it. Pure."""

from __future__ import annotations

STEPS_MAX = 200_000  # some hundred milliseconds; two schemas with 1,000 fields take some thousand steps


class TooManySteps(Exception):
    """The comparison exceeds its limit of steps."""


class Steps:
    __slots__ = ("_left",)

    def __init__(self, most: int) -> None:
        self._left = most

    def take(self, count: int = 1) -> None:
        self._left -= count
        if self._left < 0:
            raise TooManySteps
