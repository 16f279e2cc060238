"""The broker's log: one line per event on stderr, as text for people or as JSON for machines.

Modules use `logging.getLogger(__name__)` as usual. Facts that a machine needs separately from the sentence go into
`extra`: `log.info("rolled", extra={"ledger": 7})` ends in `ledger=7`, or has the JSON key `ledger`.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import IO, Any

FORMATS = ("text", "json")
LEVELS = ("debug", "info", "warning", "error")

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class TextFormatter(logging.Formatter):
    """`2026-01-02T03:04:05.678Z INFO  broker_core.topic: the sentence key=value`."""

    def format(self, record: logging.LogRecord) -> str:
        facts = "".join(f" {key}={_bare_or_quoted(value)}" for key, value in _facts(record).items())
        sentence = record.getMessage().replace("\n", "\\n")  # names come from clients: they must not start a line
        line = f"{_time(record)} {record.levelname:<7} {record.name}: {sentence}{facts}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """One object per line: `time`, `level`, `logger`, `message`, the facts, and an optional `exception`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_facts(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def start_logging(form: str = "text", level: str = "info", stream: IO[str] | None = None) -> None:
    """Sends the broker's log to `stream` (stderr), `form` as in FORMATS and `level` as in LEVELS.

    Changes only the loggers of `broker_core`: a program that embeds the broker keeps its own logging.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    broker = logging.getLogger("broker_core")
    broker.handlers[:] = [handler]
    broker.propagate = False
    broker.setLevel(level.upper())


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _facts(record: logging.LogRecord) -> dict[str, Any]:
    return {key: value for key, value in vars(record).items() if key not in _STANDARD}


def _bare_or_quoted(value: Any) -> str:
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if not text or any(c in text for c in ' "=\n') else text
