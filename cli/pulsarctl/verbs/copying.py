"""`topics copy` and `topics mirror`: a topic -> another cluster, or another name."""

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pulsarctl.errors import UsageProblem
from pulsarctl.output.render import Progress, Table
from pulsarctl.settings.settings import of_context
from pulsarctl.shell.arguments import Topic
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.headings import Heading
from pulsarctl.stop_signals import orderly_end
from pulsarctl.values.clock import pause
from pulsarctl.values.names import full_topic
from pulsarctl.values.quantities import human_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pulsarctl.migration.crew import Meter
    from pulsarctl.migration.endpoint import Endpoint
    from pulsarctl.migration.topic_copy import PartitionCopy, PartitionResult

PARALLEL = 4
MIRROR_SECONDS = 0.5
TIMEOUT_SECONDS = 60.0

Target = Annotated[
    str | None, typer.Argument(metavar="TARGET", help="Name of the copy. Default: the name of the topic.")
]
To = Annotated[str | None, typer.Option("--to", metavar="CONTEXT", help="Context of the cluster that gets the copy.")]
NoVerify = Annotated[bool, typer.Option("--no-verify", help="Do not read the copy back to compare it.")]
Terminate = Annotated[
    bool, typer.Option("--terminate", help="Terminate the topic once it is copied, and copy what came until then.")
]


def install_copying(noun: Noun) -> None:
    noun.verb("copy", heading=Heading.LIFECYCLE)(copy)
    noun.verb("mirror", heading=Heading.LIFECYCLE)(mirror)


def copy(
    call: Call,
    topic: Topic,
    target: Target = None,
    to: To = None,
    no_verify: NoVerify = False,
    terminate: Terminate = False,
) -> None:
    """Copy a topic with its schemas and subscriptions to another cluster, or to another name.

    Entries are copied as they are stored: batches, keys, properties, times, compression, and encryption stay, and so
    does the order of each partition. Subscriptions continue at the same message, with what they have acknowledged
    above it. The copy is read back and compared. If the command ends early, the same command finishes the work.

    Until then, a subscription named pulsarctl-copy keeps both topics from losing entries.

    Example: pulsarctl topics copy shop/orders --to production
    """
    from pulsarctl.migration.crew import copy_all

    with orderly_end():
        parts = _parts(call, topic, target, to)
        results = list(copy_all(parts, meter(call), parallel=PARALLEL, terminate=terminate, verify=not no_verify))
        for part in parts:
            part.release()
    show_results(call, results)


def mirror(call: Call, topic: Topic, target: Target = None, to: To = None) -> None:
    """Copy a topic, and then what is published to it, until Ctrl-C.

    Subscriptions are not copied: `topics copy` with the same arguments adds them and ends the mirror.

    Example: pulsarctl topics mirror shop/orders --to production
    """
    counted = meter(call)
    with orderly_end(), ExitStack() as open_copies:
        parts = _parts(call, topic, target, to)
        copies = []
        for part in parts:
            part.hold()
            copies.append(open_copies.enter_context(part.entries(counted.step)))
        while True:
            for each in copies:
                each.run()
            pause(MIRROR_SECONDS)


def meter(call: Call) -> "Meter":
    from pulsarctl.migration.crew import Meter

    progress = Progress(quiet=call.settings.quiet)
    call.call_on_close(progress.clear)
    return Meter(lambda entries, size: progress.show(f"{entries:,} entries, {human_size(size)}"))


def endpoint(call: Call, context: str) -> "Endpoint":
    """The cluster of a context. Raises `NotFound`."""
    from pulsarctl.migration.endpoint import Endpoint

    return Endpoint(context, of_context(context, call.obj or {}, os.environ, Path.cwd()), TIMEOUT_SECONDS)


def show_results(call: Call, results: "Sequence[PartitionResult]") -> None:
    names = ("topic", "entries", "size", "sent", "subscriptions")
    value = [{name: getattr(one, name) for name in names} for one in results]
    rows = [(one.topic, one.entries, human_size(one.size), one.sent, one.subscriptions) for one in results]
    call.show(value, Table(("TOPIC", "ENTRIES", "SIZE", "SENT NOW", "SUBSCRIPTIONS"), rows))


def _parts(call: Call, topic: str, target: str | None, context: str | None) -> "list[PartitionCopy]":
    from pulsarctl.migration.endpoint import Endpoint
    from pulsarctl.migration.topic_setup import prepare

    source, name = full_topic(topic), full_topic(target or topic)
    here = Endpoint(call.settings.web_url, call.settings, TIMEOUT_SECONDS)
    there = here if context is None else endpoint(call, context)
    if source == name and there.settings.web_url == here.settings.web_url:
        raise UsageProblem(f"cannot copy {source} to itself", hint="use --to CONTEXT, or another name")
    return prepare(here, source, there, name)
