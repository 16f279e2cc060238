"""The options of the `pulsar` data source, checked: text in, one frozen object out."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pulsarctl.errors import UsageProblem
from pulsarctl.settings.settings import Settings
from pulsarctl.spark.ack_holes import LedgerPosition
from pulsarctl.spark.columns import COLUMNS
from pulsarctl.values.message_ids import EARLIEST, LATEST, MessageId
from pulsarctl.values.positions import AtTime, Earliest, Latest, parse_position

ALL_SUBSCRIPTIONS = "*"
DEFAULTS = Settings()


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of what is read: a position in each partition's ledgers, or a publish time (ms), both included."""

    position: LedgerPosition
    time_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """One field for each option of the same name; one of `topics` and `namespace` must be given.

    topics            topics separated by commas (`topic` means the same); partitioned ones with all their partitions
    namespace         every persistent topic of TENANT/NAMESPACE but the broker's own, which start with two underscores
    service_url       where entries are read;  admin_url  where ledgers and cursors are asked for
    token             presented to both
    subscriptions     names separated by commas, or `*`: what they have not acknowledged, a row for each that has not
    start, end        `earliest`, `latest`, `LEDGER:ENTRY` (of the one partition that has this ledger) or `@TIME`
    unit              `message`: batches are unfolded; `entry`: a row for each stored entry
    columns           names separated by commas: no others are computed, nor is anything decompressed for them
    tasks_min         the work is cut into at least as many tasks, where there is enough of it
    entries_per_task  no task has more
    timeout_seconds   bounds each connect, each request and each silence
    """

    UNITS: ClassVar[tuple[str, ...]] = ("message", "entry")

    topics: tuple[str, ...] = ()
    namespace: str = ""
    service_url: str = DEFAULTS.service_url
    admin_url: str = DEFAULTS.web_url
    token: str = ""
    subscriptions: tuple[str, ...] = ()
    start: Bound = Bound(EARLIEST.position)
    end: Bound = Bound(LATEST.position)
    unit: str = "message"
    columns: tuple[str, ...] = tuple(column.name for column in COLUMNS)
    tasks_min: int = 8
    entries_per_task: int = 50_000
    timeout_seconds: float = 60.0

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> "ReadOptions":
        """Names in any case, as Spark has them. Raises `UsageProblem`."""
        given = {name.lower(): text for name, text in options.items()}
        if "topic" in given:
            given["topics"] = ",".join(filter(None, (given.get("topics"), given.pop("topic"))))
        unknown = sorted(given.keys() - _READ.keys())
        if unknown:
            raise UsageProblem(
                f"the pulsar source has no option {', '.join(unknown)}", hint=f"its options are {', '.join(_READ)}"
            )
        values: dict[str, Any] = {name: _READ[name](name, text) for name, text in given.items()}
        parsed = cls(**values)
        if bool(parsed.topics) == bool(parsed.namespace):
            raise UsageProblem("say what to read: either the option topics or the option namespace")
        return parsed

    def settings(self) -> Settings:
        """For the admin client."""
        return Settings(
            service_url=self.service_url,
            web_url=self.admin_url,
            token=self.token or None,
            request_timeout_seconds=self.timeout_seconds,
            origins={"web_url": "the option admin_url"},
        )


def _text(name: str, text: str) -> str:
    return text


def _list(name: str, text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",") if item.strip())


def _count(name: str, text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise UsageProblem(f"option {name}: '{text}' is not a number from 1 on")
    return int(text)


def _seconds(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise UsageProblem(f"option {name}: '{text}' is not a number of seconds") from error


def _unit(name: str, text: str) -> str:
    if text not in ReadOptions.UNITS:
        raise UsageProblem(f"option {name}: '{text}' is none of {', '.join(ReadOptions.UNITS)}")
    return text


def _bound(name: str, text: str) -> Bound:
    match parse_position(text, int(time.time() * 1000)):
        case Earliest():
            return Bound(EARLIEST.position)
        case Latest():
            return Bound(LATEST.position)
        case MessageId(ledger_id=ledger_id, entry_id=entry_id):
            return Bound((ledger_id, entry_id))
        case AtTime(publish_time_ms=time_ms):
            return Bound((EARLIEST if name == "start" else LATEST).position, time_ms)
    raise UsageProblem(f"option {name}: '{text}' depends on what is read", hint="write LEDGER:ENTRY or @TIME")


_READ = {
    "topics": _list,
    "namespace": _text,
    "service_url": _text,
    "admin_url": _text,
    "token": _text,
    "subscriptions": _list,
    "start": _bound,
    "end": _bound,
    "unit": _unit,
    "columns": _list,
    "tasks_min": _count,
    "entries_per_task": _count,
    "timeout_seconds": _seconds,
}
