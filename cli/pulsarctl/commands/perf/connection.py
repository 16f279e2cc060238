"""The connection of a measurement."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from pulsarctl.output import render
from pulsarctl.shell.call import Call
from pulsarctl.stop_signals import orderly_end

if TYPE_CHECKING:
    from pulsarctl.client.messaging import Messaging


@contextmanager
def connected(call: Call, wait_seconds: float) -> "Iterator[Messaging]":
    """The client of the command. From here on, a signal ends the measurement, and its record is printed."""
    render.guard_stdout()
    call.with_resource(orderly_end())

    from pulsarctl.client.messaging import Messaging

    with closing(Messaging(call.settings, wait_seconds)) as client:
        yield client
