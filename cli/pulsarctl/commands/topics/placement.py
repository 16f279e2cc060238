"""Verbs that show which broker and which bundle a topic belongs to."""

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
def partitioned_lookup(call: Call, topic: Topic) -> None:
    """Show the address of the broker that serves each partition of a topic.

    Example: pulsarctl topics partitioned-lookup orders
    """
    parts = call.admin.topics.parts(topic)
    call.show({part: call.admin.topics.lookup(part).get("brokerUrl", "") for part in parts}, as_map=True)


@app.verb("bundle-range", heading=Heading.PLACEMENT)
def bundle_range(call: Call, topic: Topic) -> None:
    """Show the namespace bundle that a topic belongs to.

    Example: pulsarctl topics bundle-range orders
    """
    call.show(call.admin.topics.bundle_range(topic))
