"""The parts that the commands that copy share: the other cluster, the progress, and the table of results."""

import os
from collections.abc import Sequence
from pathlib import Path

from pulsarctl.migration.crew import Meter
from pulsarctl.migration.endpoint import Endpoint
from pulsarctl.migration.topic_copy import PartitionResult
from pulsarctl.output.render import Progress, Table
from pulsarctl.settings.settings import of_context
from pulsarctl.shell.call import Call
from pulsarctl.values.quantities import human_size

TIMEOUT_SECONDS = 60.0


def endpoint(call: Call, context: str | None) -> Endpoint:
    """The cluster of a context, or that of the command. Raises `NotFound`."""
    if context is None:
        return Endpoint(call.settings.web_url, call.settings, TIMEOUT_SECONDS)
    return Endpoint(context, of_context(context, call.obj or {}, os.environ, Path.cwd()), TIMEOUT_SECONDS)


def meter(call: Call) -> Meter:
    progress = Progress(quiet=call.settings.quiet)
    call.call_on_close(progress.clear)
    return Meter(lambda entries, size: progress.show(f"{entries:,} entries, {human_size(size)}"))


def show_results(call: Call, results: Sequence[PartitionResult]) -> None:
    names = ("topic", "entries", "size", "sent", "subscriptions")
    value = [{name: getattr(result, name) for name in names} for result in results]
    rows = [
        (result.topic, result.entries, human_size(result.size), result.sent, result.subscriptions) for result in results
    ]
    call.show(value, Table(("TOPIC", "ENTRIES", "SIZE", "SENT NOW", "SUBSCRIPTIONS"), rows))
