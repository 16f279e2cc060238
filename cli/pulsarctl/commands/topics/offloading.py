"""`topics offload` and `topics offload-status`, with pulsar-admin's options and texts."""

from typing import Annotated, Any

import typer

from pulsarctl.shell.arguments import Topic
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.headings import Heading
from pulsarctl.values.clock import monotonic
from pulsarctl.values.message_ids import MessageId
from pulsarctl.values.names import full_topic
from pulsarctl.values.quantities import parse_duration, parse_size
from pulsarctl.verbs.broker_tasks import raise_if_failed, wait_for

app = Noun("topics", "")

WORDS = {
    "NOT_RUN": "Offload has not been run for {topic} since broker startup",
    "RUNNING": "Offload is currently running",
    "SUCCESS": "Offload was a success",
    "ERROR": "Error in offload",
}


@app.verb("offload", heading=Heading.TIERED)
def offload(
    call: Call,
    topic: Topic,
    threshold: Annotated[
        str,
        typer.Option(
            "-s", "--size-threshold", metavar="SIZE", help="Size of the newest messages that stay local, such as 10G."
        ),
    ],
) -> None:
    """Copy the older ledgers of a topic to tiered storage.

    Ledgers are copied as a whole, in the background, up to the first one within the threshold. 'topics offload-status'
    shows how it goes. The store comes from the broker's configuration or from offload policies.

    Example: pulsarctl topics offload orders --size-threshold 1G
    """
    name = full_topic(topic)
    stats = call.admin.topics.internal_stats(name)
    ledgers = stats.get("ledgers") or []
    if not ledgers:
        call.show("Topic doesn't have any data")
        return
    before = first_within(ledgers, int(stats.get("currentLedgerSize", 0)), parse_size(threshold))
    if before is None:
        call.show("Nothing to offload")
        return
    call.admin.topics.offload(name, MessageId(before, 0))
    call.show(f"Offload triggered for {name} for messages before {before}:0:-1")


def first_within(ledgers: list[dict[str, Any]], open_bytes: int, threshold: int) -> int | None:
    """The oldest ledger of the newest ones that fit the threshold; None if all of them fit.

    The sizes in internal stats do not count the last ledger, which takes messages: it has `open_bytes`.
    """
    sizes = [int(ledger["size"]) for ledger in ledgers[:-1]] + [open_bytes]
    first, total = int(ledgers[-1]["ledgerId"]), 0
    for ledger, size in zip(reversed(ledgers), reversed(sizes), strict=True):
        total += size
        if total > threshold:
            return first
        first = int(ledger["ledgerId"])
    return None


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
