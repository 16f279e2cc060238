"""Checks numbered messages of a reader: new numbers must be in order, duplicates are allowed.

A producer that does not know whether a message arrived sends it and all later ones again, so numbers may go back. A new
number must be one more than the highest so far.
"""


class Sequence:
    def __init__(self, following: int = 0) -> None:
        self.following = following  # the next new number
        self.gaps = 0
        self.repeated = 0

    def see(self, number: int) -> bool:
        """Whether the number is new."""
        if number < self.following:
            self.repeated += 1
            return False
        self.gaps += number != self.following
        self.following = number + 1
        return True


def number_of(payload: bytes) -> int:
    return int(payload[: payload.index(b":")])
