"""Counts the steps of a comparison of two schemas, so that it ends. Pure."""

from __future__ import annotations

STEPS_MAX = 200_000  # some hundred milliseconds; a pair of schemas with 1,000 fields takes some thousand


class TooManySteps(Exception):
    """The comparison takes more steps than it may."""


class Steps:
    __slots__ = ("_left",)

    def __init__(self, most: int) -> None:
        self._left = most

    def take(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise TooManySteps
