"""Verbs that show which broker and which bundle a topic belongs to."""

from typing import Annotated

import typer

from pulsarctl.shell.arguments import Topic
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.headings import Heading

app = Noun("topics", "")


@app.verb("lookup", heading=Heading.PLACEMENT)
def lookup(call: Call, topic: Topic) -> None:
    """Show the address of the broker that serves a topic.

    Example: pulsarctl topics lookup orders
    """
    call.show(str(call.admin.topics.lookup(topic).get("brokerUrl", "")))


@app.verb("partitioned-lookup", heading=Heading.PLACEMENT)
def partitioned_lookup(
    call: Call,
    topic: Topic,
    by_broker: Annotated[
        bool, typer.Option("-s", "--sort-by-broker", help="Show the partitions of each broker.")
    ] = False,
) -> None:
    """Show the address of the broker that serves each partition of a topic.

    Example: pulsarctl topics partitioned-lookup orders
    """
    parts = call.admin.topics.parts(topic)
    brokers = {part: str(call.admin.topics.lookup(part).get("brokerUrl", "")) for part in parts}
    call.show(_by_broker(brokers) if by_broker else brokers, as_map=True)


def _by_broker(brokers: dict[str, str]) -> dict[str, list[str]]:
    return {
        broker: [part for part, owner in brokers.items() if owner == broker] for broker in sorted(set(brokers.values()))
    }


@app.verb("bundle-range", heading=Heading.PLACEMENT)
def bundle_range(call: Call, topic: Topic) -> None:
    """Show the namespace bundle that a topic belongs to.

    Example: pulsarctl topics bundle-range orders
    """
    call.show(call.admin.topics.bundle_range(topic))
