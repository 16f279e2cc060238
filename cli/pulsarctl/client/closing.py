"""The end of connections that a command no longer needs: the broker may be slow or gone."""

import contextlib
from collections.abc import Callable

import pulsar

from pulsarctl.client.abandoned import bounded

CLOSE_SECONDS = 0.5


def close_in_time(close: Callable[[], None]) -> None:
    """Waits half a second at most. Ignores errors, because a lost connection is closed, too."""

    def closing() -> None:
        with contextlib.suppress(pulsar.PulsarException):
            close()

    bounded(closing, CLOSE_SECONDS)
