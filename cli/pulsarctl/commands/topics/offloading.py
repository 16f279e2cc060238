"""`topics offload` and `topics offload-status`, with pulsar-admin's options and texts."""

from typing import Annotated

import typer

from pulsarctl.shell.arguments import Topic
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.headings import Heading
from pulsarctl.values.clock import monotonic
from pulsarctl.values.names import full_topic
from pulsarctl.values.quantities import parse_duration
from pulsarctl.verbs.broker_tasks import raise_if_failed, wait_for

app = Noun("topics", "")

WORDS = {
    "NOT_RUN": "Offload has not been run for {topic} since broker startup",
    "RUNNING": "Offload is currently running",
    "SUCCESS": "Offload was a success",
    "ERROR": "Error in offload",
}


@app.verb("offload-status", heading=Heading.TIERED)
def offload_status(
    call: Call,
    topic: Topic,
    wait: Annotated[bool, typer.Option("-w", "--wait-complete", "--wait", help="Wait until the offload ends.")] = False,
    timeout: Annotated[str, typer.Option("--timeout", metavar="DURATION", help="Maximum time to wait.")] = "1h",
) -> None:
    """Show the status of the last offload of a topic.

    Fails if that offload failed.

    Example: pulsarctl topics offload-status orders -w
    """
    name = full_topic(topic)
    status = call.admin.topics.offload_status(name)
    if wait and status.running:
        deadline = monotonic() + parse_duration(timeout)
        status = wait_for("offload", name, call.admin.topics.offload_status, deadline, timeout)
    raise_if_failed("offload", name, status)
    as_text = call.output.value not in ("json", "jsonl", "yaml")
    words = WORDS.get(status.status, status.status).format(topic=name)
    call.show(words if as_text else {"status": status.status, "lastError": status.error})
