"""`topics offload` and `topics offload-status`, with pulsar-admin's options and texts."""

from typing import Annotated

import typer

from pulsarctl.shell.arguments import Topic
from pulsarctl.shell.broker_tasks import show_status
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.headings import Heading

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

    Shows that of each partition of a partitioned topic. Fails if that offload failed.

    Example: pulsarctl topics offload-status orders -w
    """
    show_status(call, "offload", topic, call.admin.topics.offload_status, WORDS, wait=wait, timeout=timeout)
