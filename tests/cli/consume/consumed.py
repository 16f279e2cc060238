"""What `consume` prints when it succeeds."""

from tests.support.runner import Outcome


def consumed(stdout: str, count: int, outcome: str = "successfully consumed") -> Outcome:
    return Outcome(0, stdout, f"{count} messages {outcome}\n")
