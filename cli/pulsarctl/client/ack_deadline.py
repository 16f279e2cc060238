"""The time by which the next acknowledgment must arrive while messages are pending.

The official client restarts its send timeout with each connection. A broker that cannot store messages, such as one
with a full disk, answers each of them with an error that ends the connection, so the timeout never passes.
"""

import time

SLACK_SECONDS = 1.0  # the client's own timeout, which knows the failed messages, comes first


class AckDeadline:
    """Made at the start of a wait. `seconds` is the send timeout of the client."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds + SLACK_SECONDS
        self._acknowledged = -1
        self._since = time.monotonic()

    def has_passed(self, acknowledged: int) -> bool:
        """Whether the number of acknowledged messages has been the same for too long."""
        now = time.monotonic()
        if acknowledged != self._acknowledged:
            self._acknowledged, self._since = acknowledged, now
        return now - self._since >= self._seconds
