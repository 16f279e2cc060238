"""`pulsarctl ops`: large jobs on Spark, on this machine or on a cluster."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from pulsarctl.errors import CliError
from pulsarctl.output.render import Output, Progress, Table
from pulsarctl.settings.credentials import token
from pulsarctl.settings.settings import Settings
from pulsarctl.shell.arguments import csv, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.names import full_topic, namespace_path
from pulsarctl.values.quantities import human_size

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pulsarctl.spark.jobs.backlog import SubscriptionBacklog, Tell

Result = TypeVar("Result")

app = Noun("ops", "Run large jobs on Spark.")

Target = Annotated[
    str,
    typer.Argument(metavar="TOPIC|NAMESPACE", help="Name of a topic, or of a namespace for all its persistent topics."),
]
Master = Annotated[
    str,
    typer.Option("--master", metavar="MASTER", help="Spark master: local[N], spark://HOST:PORT, yarn, or k8s://..."),
]
Conf = Annotated[list[str] | None, typer.Option("--conf", metavar="KEY=VALUE", help="Spark setting; may be repeated.")]
Subscriptions = Annotated[
    list[str] | None,
    typer.Option("-s", "--subscription", metavar="SUBSCRIPTION,...", help="Subscriptions to count. Default: all."),
]


@app.verb("backlog")
def backlog(
    call: Call, target: Target, master: Master = "local[*]", subscription: Subscriptions = None, conf: Conf = None
) -> None:
    """Count the unacknowledged messages of each subscription, with their size and age.

    The job reads the messages, so the numbers are exact: per message on pulsarctl's broker, and per entry on Apache
    Pulsar. The table shows the age of the oldest message; JSON and JSON lines also count messages by age. The job
    requires Spark (pip install 'pulsarctl[spark]') and Java 17 or newer (or 'pulsarctl[java]').

    Example: pulsarctl ops backlog shop/orders --master 'local[4]' -o json
    """
    from pulsarctl.spark.session import require_spark

    require_spark()
    source = _source(call, target)
    chosen = csv(subscription)
    known = [each for each in _subscriptions(call, target) if not chosen or each[1] in chosen]
    exact_per = _exact_per(call.settings)
    now_ms = int(time.time() * 1000)
    with _session(call, master, pairs(conf)) as (spark, tell):
        from pulsarctl.spark.jobs.backlog import run

        found, tasks = _explained(lambda: run(spark, source, known, subscriptions=chosen, now_ms=now_ms, tell=tell))
    _show(call, found, now_ms, exact_per, tasks)
    if exact_per == "entry":
        call.notice("exact per entry: a batch counts as a whole until all its messages are acknowledged")


@contextmanager
def _session(call: Call, master: str, conf: dict[str, str]) -> Iterator[tuple["SparkSession", "Tell"]]:
    """A session, and the function to which its job reports progress."""
    from pulsarctl.spark.session import spark_session

    progress = Progress(quiet=call.settings.quiet)
    progress.show(f"starting Spark on {master}")
    try:
        with spark_session(
            "pulsarctl ops backlog", master, options=conf, log_level=call.settings.log_level, short=True
        ) as spark:
            yield spark, lambda done, tasks: progress.show(f"{done} of {tasks} tasks done")
    finally:
        progress.clear()


def _exact_per(settings: Settings) -> str:
    """Our broker's admin API shows each acknowledged message. Another broker may hide those within a batch."""
    from pulsarctl.raw.topic_lookup import TopicLookup

    lookup = TopicLookup(settings.service_url, timeout_seconds=settings.request_timeout_seconds, token=token(settings))
    try:
        return "message" if lookup.server_version().startswith("pulsarctl") else "entry"
    finally:
        lookup.close()


def _source(call: Call, target: str) -> dict[str, str]:
    """The options of the data source: what to read, and from which broker."""
    source = {"service_url": call.settings.service_url, "admin_url": call.settings.web_url}
    if secret := token(call.settings):
        source["token"] = secret
    source.update({"namespace": namespace_path(target)} if _is_namespace(target) else {"topic": full_topic(target)})
    return source


def _is_namespace(target: str) -> bool:
    return "://" not in target and target.count("/") == 1


def _subscriptions(call: Call, target: str) -> list[tuple[str, str]]:
    """(topic, subscription) of every subscription, with partitioned topics as a whole. Raises `NotFound`."""
    topics = _topics(call, target) if _is_namespace(target) else [full_topic(target)]
    return [(topic, name) for topic in topics for name in call.admin.topics.subscriptions(topic)]


def _topics(call: Call, namespace: str) -> list[str]:
    partitioned = call.admin.topics.list_partitioned(namespace)
    single = [name for name in call.admin.topics.list(namespace, domain="persistent") if "-partition-" not in name]
    names = [*partitioned, *single]
    return [name for name in names if name.startswith("persistent:") and not name.rpartition("/")[2].startswith("__")]


def _explained(action: Callable[[], Result]) -> Result:
    """Runs the action, with a failure in Spark as an error of one line."""
    from pyspark.errors import PySparkException

    try:
        return action()
    except PySparkException as error:
        raise CliError(f"the Spark job failed: {_cause(str(error))}") from error


def _cause(text: str) -> str:
    """The last line of a Python traceback, without the module's name, or the first line of any other text."""
    found = re.findall(r"^(?:[\w.]+\.)?(\w+(?:: .*)?)$", text, re.MULTILINE)
    if "Traceback" in text and found:
        return str(found[-1])
    return text.strip().partition("\n")[0]


def _show(call: Call, found: list["SubscriptionBacklog"], now_ms: int, exact_per: str, tasks: int) -> None:
    """Prints one JSON line for each subscription, or one document in any other format."""
    taken = {"takenAt": now_ms, "exactPer": exact_per}
    records = [_record(each) for each in found]
    if call.output is Output.JSONL:
        call.show([taken | record for record in records])
    else:
        call.show(taken | {"tasks": tasks, "subscriptions": records}, _table(found, now_ms))


def _record(backlog: "SubscriptionBacklog") -> dict[str, Any]:
    return {
        "topic": backlog.topic,
        "subscription": backlog.subscription,
        "messages": backlog.messages,
        "entries": backlog.entries,
        "bytes": backlog.bytes,
        "oldestPublishTime": backlog.oldest_publish_time_ms,
        "messagesByAge": backlog.ages,
    }


def _table(found: list["SubscriptionBacklog"], now_ms: int) -> Table:
    """Only the columns that fit on 80 characters next to a topic's name."""
    rows = [
        (
            each.topic.removeprefix("persistent://"),
            each.subscription,
            each.messages,
            human_size(each.bytes),
            _age(each.oldest_publish_time_ms, now_ms),
        )
        for each in found
    ]
    return Table(("TOPIC", "SUBSCRIPTION", "MESSAGES", "SIZE", "OLDEST"), rows)


def _age(publish_time_ms: int | None, now_ms: int) -> str | None:
    """`3d4h`, in the two largest units."""
    if publish_time_ms is None:
        return None
    seconds = max(now_ms - publish_time_ms, 0) // 1000
    parts: list[str] = []
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)):
        if seconds >= size or (unit == "s" and not parts):
            parts.append(f"{seconds // size}{unit}")
        seconds %= size
    return "".join(parts[:2])
