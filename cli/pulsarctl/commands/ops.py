"""`pulsarctl ops`: heavy jobs on Spark, on this machine or on a cluster."""

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

app = Noun("ops", "Heavy jobs on Spark.")

Target = Annotated[
    str,
    typer.Argument(metavar="TOPIC|NAMESPACE", help="A topic, or every persistent topic of TENANT/NAMESPACE."),
]
Master = Annotated[
    str,
    typer.Option("--master", metavar="MASTER", help="Where Spark runs: local[N], spark://HOST:PORT, yarn, k8s://..."),
]
Conf = Annotated[
    list[str] | None, typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark; may be repeated.")
]
Subscriptions = Annotated[
    list[str] | None,
    typer.Option("-s", "--subscription", metavar="SUBSCRIPTION,...", help="Only these; all by default."),
]


@app.verb("backlog")
def backlog(
    call: Call, target: Target, master: Master = "local[*]", subscription: Subscriptions = None, conf: Conf = None
) -> None:
    """Count what each subscription has not acknowledged: messages, bytes, and how old they are.

    Reads the messages themselves, so it is exact per message on pulsarctl's broker, and per entry on Apache Pulsar.
    The table shows the age of the oldest message; JSON and JSON lines also count messages by age. Needs Spark
    (pip install 'pulsarctl[spark]') and Java 17 or newer (or 'pulsarctl[java]').

    Example: pulsarctl ops backlog shop/orders --master 'local[4]' -o json
    """
    from pulsarctl.spark.session import require_spark

    require_spark()
    place = _place(call, target)
    chosen = csv(subscription)
    known = [each for each in _subscriptions(call, target) if not chosen or each[1] in chosen]
    exact_per = _exact_per(call.settings)
    now_ms = int(time.time() * 1000)
    with _session(call, master, pairs(conf)) as (spark, tell):
        from pulsarctl.spark.jobs.backlog import run

        found, tasks = _explained(lambda: run(spark, place, known, subscriptions=chosen, now_ms=now_ms, tell=tell))
    _show(call, found, now_ms, exact_per, tasks)
    if exact_per == "entry":
        call.notice("exact per entry: a batch counts whole until all its messages are acknowledged")


@contextmanager
def _session(call: Call, master: str, conf: dict[str, str]) -> Iterator[tuple["SparkSession", "Tell"]]:
    """A session, and where its job tells how far it is."""
    from pulsarctl.spark.session import spark_session

    progress = Progress(quiet=call.settings.quiet)
    progress.show(f"starting Spark on {master}")
    try:
        with spark_session("pulsarctl ops backlog", master, options=conf, log_level=call.settings.log_level) as spark:
            yield spark, lambda done, tasks: progress.show(f"{done} of {tasks} tasks done")
    finally:
        progress.clear()


def _exact_per(settings: Settings) -> str:
    """Our broker acknowledges whole entries; another one may know more of a batch than its admin API tells."""
    from pulsarctl.raw.topic_lookup import TopicLookup

    lookup = TopicLookup(settings.service_url, timeout_seconds=settings.request_timeout_seconds, token=token(settings))
    try:
        return "message" if lookup.server_version().startswith("pulsarctl") else "entry"
    finally:
        lookup.close()


def _place(call: Call, target: str) -> dict[str, str]:
    """What and where, in the words of the data source."""
    place = {"service_url": call.settings.service_url, "admin_url": call.settings.web_url}
    if secret := token(call.settings):
        place["token"] = secret
    place.update({"namespace": namespace_path(target)} if _is_namespace(target) else {"topic": full_topic(target)})
    return place


def _is_namespace(target: str) -> bool:
    return "://" not in target and target.count("/") == 1


def _subscriptions(call: Call, target: str) -> list[tuple[str, str]]:
    """(topic, subscription) of all that exist, partitioned topics as a whole. Raises `NotFound`."""
    topics = _topics(call, target) if _is_namespace(target) else [full_topic(target)]
    return [(topic, name) for topic in topics for name in call.admin.topics.subscriptions(topic)]


def _topics(call: Call, namespace: str) -> list[str]:
    partitioned = call.admin.topics.list_partitioned(namespace)
    single = [name for name in call.admin.topics.list(namespace, domain="persistent") if "-partition-" not in name]
    names = [*partitioned, *single]
    return [name for name in names if name.startswith("persistent:") and not name.rpartition("/")[2].startswith("__")]


def _explained(action: Callable[[], Result]) -> Result:
    """A failure inside of Spark as one line."""
    from pyspark.errors import PySparkException

    try:
        return action()
    except PySparkException as error:
        raise CliError(f"the Spark job failed: {_cause(str(error))}") from error


def _cause(text: str) -> str:
    """Of a Python traceback its last line, without the module's name; else the first line there is."""
    found = re.findall(r"^(?:[\w.]+\.)?(\w+(?:: .*)?)$", text, re.MULTILINE)
    if "Traceback" in text and found:
        return str(found[-1])
    return text.strip().partition("\n")[0]


def _show(call: Call, found: list["SubscriptionBacklog"], now_ms: int, exact_per: str, tasks: int) -> None:
    """JSON lines have one for each subscription, all else one document."""
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
    """No more columns than fit a terminal of 80 beside a topic's name."""
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
