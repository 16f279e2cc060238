"""`topics offload` and `topics offload-status`, with pulsar-admin's options and texts."""

from typing import TYPE_CHECKING, Annotated

import typer

from pulsarctl.commands.topics.offload_start import first_within
from pulsarctl.shell.arguments import PARALLEL_DEFAULT, Parallel, Topic
from pulsarctl.shell.broker_tasks import show_status
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.headings import Heading
from pulsarctl.targets.many import act_on
from pulsarctl.targets.topics import FromFile, InNamespace, Regex, Topics, chosen
from pulsarctl.values.quantities import parse_size

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient

app = Noun("topics", "")

Threshold = Annotated[
    str,
    typer.Option(
        "-s", "--size-threshold", metavar="SIZE", help="Size of the newest messages that stay local, such as 10G."
    ),
]
WORDS = {
    "NOT_RUN": "Offload has not been run for {topic} since broker startup",
    "RUNNING": "Offload is currently running",
    "SUCCESS": "Offload was a success",
    "ERROR": "Error in offload",
}


@app.verb("offload", heading=Heading.TIERED)
def offload(
    call: Call,
    threshold: Threshold,
    topics: Topics = None,
    regex: Regex = False,
    namespace: InNamespace = None,
    from_file: FromFile = None,
    parallel: Parallel = PARALLEL_DEFAULT,
) -> None:
    """Copy the older ledgers of topics to tiered storage.

    Ledgers are copied as a whole, in the background, up to the first one within the threshold. 'topics offload-status'
    shows the progress. The store comes from the broker's configuration or from offload policies. Each partition is
    offloaded by its own size.

    Example: pulsarctl topics offload orders --size-threshold 1G
    """
    local_bytes = parse_size(threshold)
    names = chosen(call, topics, regex=regex, from_file=from_file, namespace=namespace)
    if not names:
        return

    def act(admin: "AdminClient", topic: str) -> tuple[str, dict[str, str] | str]:
        texts = {part: _offloaded(admin, part, local_bytes) for part in admin.topics.parts(topic)}
        return topic, texts if len(texts) > 1 else "".join(texts.values())

    results = dict(act_on(call, names, act, verb="offload", parallel=parallel))
    if names.several:
        call.show(results, as_map=True)
    else:
        call.show(next(iter(results.values()), ""))


def _offloaded(admin: "AdminClient", topic: str, threshold: int) -> str:
    """Starts the offload of a topic without partitions, or of one partition."""
    stats = admin.topics.internal_stats(topic)
    ledgers = stats.get("ledgers") or []
    if not ledgers:
        return "Topic doesn't have any data"
    before = first_within(ledgers, int(stats.get("currentLedgerSize", 0)), threshold)
    if before is None:
        return "Nothing to offload"
    admin.topics.offload(topic, before)
    return f"Offload triggered for {topic} for messages before {before.ledger_id}:{before.entry_id}:-1"


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
