"""`ops compact`: finds the last message of each key in a job, and has the broker adopt the result."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pulsarctl.backlog.engine import Engine
from pulsarctl.commands.ops.bundled_broker import is_bundled
from pulsarctl.commands.ops.job import Job, Where, facts, show_plan
from pulsarctl.commands.ops.on_spark import access
from pulsarctl.commands.ops.range_options import ShowReading
from pulsarctl.commands.ops.spark_options import Conf, EngineOption, LocalMax, Master, SparkSubmit, show_spark_submit
from pulsarctl.errors import UsageProblem
from pulsarctl.output.render import Progress, Table
from pulsarctl.shell.arguments import BrokerTimeout, Topic, pairs
from pulsarctl.shell.broker_tasks import raise_if_failed, wait_for
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.clock import monotonic
from pulsarctl.values.names import full_topic, is_scalable
from pulsarctl.values.quantities import parse_duration

if TYPE_CHECKING:
    from pyspark import SparkContext

    from broker_core.wire.last_places import LastPlaces
    from pulsarctl.compaction.last_places import Bucket, Keys
    from pulsarctl.compaction.range import Uncompacted


def install_compact(noun: Noun) -> None:
    noun.verb("compact")(compact)


def compact(
    call: Call,
    topic: Topic,
    timeout: BrokerTimeout = "1h",
    engine: EngineOption = Engine.AUTO,
    local_max: LocalMax = "64M",
    master: Master = "local[*]",
    conf: Conf = None,
    dry_run: ShowReading = False,
    spark_submit: SparkSubmit = False,
) -> None:
    """Compact a very large topic with a job that finds the last message of each key.

    The job reads what is not compacted yet. The broker compares what it read with the log, looks at each message that
    the job names and at a sample of the others, and copies the messages that remain. The result is the same as that of
    topics compact. Only pulsarctl's broker can do this. Large topics are read on Spark. Topics with chunked messages
    are refused: use topics compact.

    Example: pulsarctl ops compact shop/eu/prices --master spark://spark.example:7077
    """
    from pulsarctl.commands.ops.export_plan import require_arrow

    if spark_submit:
        show_spark_submit(master, pairs(conf), "--engine", "spark")
        return
    if is_scalable(topic):
        raise UsageProblem(f"cannot compact {topic}: Pulsar does not compact scalable topics")
    require_arrow("compact a topic in a job")
    _check_broker(call)
    from pulsarctl.compaction.range import uncompacted

    due = uncompacted(access(call), full_topic(topic))
    job = Job.reading("compact", Where.given(engine, local_max, master, conf), due.parts)
    if dry_run:
        show_plan(call, facts(job, due.parts))
        return
    rows = [each.document() for each in _compact(call, due, job, timeout)]
    call.show(rows, Table(_HEADING, [tuple(row.values()) for row in rows]))


def _check_broker(call: Call) -> None:
    if not is_bundled(call):
        raise UsageProblem(
            "cannot compact: only pulsarctl's broker adopts the result of a job",
            hint="use: pulsarctl topics compact TOPIC",
        )


_HEADING = ("TOPIC", "MESSAGES", "KEYS", "COMPACTED ENTRIES", "COMPACTED BYTES", "ENGINE")


@dataclass(frozen=True, slots=True)
class Compacted:
    """`messages` and `keys` are those that the job read; `entries` and `size` are of the compacted ledger."""

    topic: str
    messages: int
    keys: int
    entries: int
    size: int
    engine: Engine

    def document(self) -> dict[str, Any]:
        return {
            "topic": self.topic,
            "messages": self.messages,
            "keys": self.keys,
            "compactedEntries": self.entries,
            "compactedBytes": self.size,
            "engine": str(self.engine),
        }


def _compact(call: Call, due: "Uncompacted", job: Job, timeout: str) -> list[Compacted]:
    from pulsarctl.compaction.last_places import last_places

    keys = _keys(call, due, job)
    _refuse_chunks(keys)
    places = last_places(due, keys)
    deadline = monotonic() + parse_duration(timeout)
    for part, each in places.items():
        call.admin.topics.compact_places(part, each.encode())
    for part in places:
        status = wait_for("compaction", part, call.admin.topics.compaction_status, deadline, timeout)
        raise_if_failed("compaction", part, status)
    return [_result(call, part, places.get(part), job.choice.engine) for part in due.after]


def _refuse_chunks(keys: "dict[Bucket, Keys]") -> None:
    """The broker keeps or drops the chunks of a message together; the places that a job hands over cannot say that."""
    for (topic, _), each in keys.items():
        if each.chunked is not None:
            ledger_id, entry_id, _ = each.chunked
            raise UsageProblem(
                f"cannot compact {topic} in a job: the message at {ledger_id}:{entry_id} is chunked",
                hint=f"use: pulsarctl topics compact {topic}",
            )


def _keys(call: Call, due: "Uncompacted", job: Job) -> "dict[Bucket, Keys]":
    from pulsarctl.compaction.last_places import KeysOfPart, merged

    work, count = KeysOfPart(due.table), len(due.parts)

    def on_spark(context: "SparkContext", progress: Progress) -> "dict[Bucket, Keys]":
        from pulsarctl.spark.jobs.last_places import run_spark

        return run_spark(
            context, work, due.parts, lambda done: progress.show(f"{min(done, count)} of {count} parts done")
        )

    def locally(progress: Progress) -> "dict[Bucket, Keys]":
        return merged(pair for part in due.parts for pair in work(part))

    return job.run(call, locally, on_spark) if due.parts else {}


def _result(call: Call, part: str, places: "LastPlaces | None", engine: Engine) -> Compacted:
    ledger = call.admin.topics.internal_stats(part).get("compactedLedger", {})
    messages = sum(each.messages for each in places.ledgers) if places else 0
    keys = places.count if places else 0
    entries, size = max(ledger.get("entries", 0), 0), max(ledger.get("size", 0), 0)
    return Compacted(part, messages, keys, entries, size, engine)
