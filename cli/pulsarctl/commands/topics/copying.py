"""`topics copy` and `topics mirror`: a topic -> another cluster, or another name."""

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from pulsarctl.errors import UsageProblem
from pulsarctl.shell.arguments import Topic
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.headings import Heading
from pulsarctl.stop_signals import orderly_end
from pulsarctl.values.clock import pause
from pulsarctl.values.names import full_topic

if TYPE_CHECKING:
    from pulsarctl.migration.topic_copy import PartitionCopy

app = Noun("topics", "")

PARALLEL = 4
MIRROR_SECONDS = 0.5

Target = Annotated[
    str | None, typer.Argument(metavar="TARGET", help="Name of the copy. Default: the name of the topic.")
]
To = Annotated[str | None, typer.Option("--to", metavar="CONTEXT", help="Context of the cluster that gets the copy.")]
NoVerify = Annotated[bool, typer.Option("--no-verify", help="Do not read the copy back to compare it.")]
Terminate = Annotated[
    bool, typer.Option("--terminate", help="Terminate the topic once it is copied, and copy what came until then.")
]


@app.verb("copy", heading=Heading.LIFECYCLE)
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

    Example: pulsarctl topics copy shop/eu/orders --to production
    """
    from pulsarctl.migration.crew import copy_all
    from pulsarctl.migration.session import meter, show_results

    with orderly_end():
        parts = _parts(call, topic, target, to)
        switch = (lambda part: part.switch(None)) if terminate else None
        results = list(copy_all(parts, meter(call), parallel=PARALLEL, switch=switch, verify=not no_verify))
        for part in parts:
            part.release()
    show_results(call, results)


@app.verb("mirror", heading=Heading.LIFECYCLE)
def mirror(call: Call, topic: Topic, target: Target = None, to: To = None) -> None:
    """Copy a topic, and then what is published to it, until Ctrl-C.

    Subscriptions are not copied: `topics copy` with the same arguments adds them and ends the mirror.

    Example: pulsarctl topics mirror shop/eu/orders --to production
    """
    from pulsarctl.migration.session import meter

    counted = meter(call)
    with orderly_end(), ExitStack() as open_copies:
        parts = _parts(call, topic, target, to)
        copies = []
        for part in parts:
            part.hold()
            copies.append(open_copies.enter_context(part.entries(counted.step)))
        while True:
            for entry_copy in copies:
                entry_copy.run()
            pause(MIRROR_SECONDS)


def _parts(call: Call, topic: str, target: str | None, context: str | None) -> "list[PartitionCopy]":
    from pulsarctl.migration.same_topic import refuse_same
    from pulsarctl.migration.session import endpoint
    from pulsarctl.migration.topic_setup import prepare

    source, name = full_topic(topic), full_topic(target or topic)
    here, there = endpoint(call, None), endpoint(call, context)
    if source == name and there.settings.web_url == here.settings.web_url:
        raise UsageProblem(f"cannot copy {source} to itself", hint="use --to CONTEXT, or another name")
    parts = prepare(here, source, there, name)
    refuse_same(parts)
    return parts
