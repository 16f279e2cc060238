"""The broker's log: one line per event on stderr, as text for people or as JSON for machines.

Modules use `logging.getLogger(__name__)` as usual. Facts that a machine needs separately from the sentence go into
`extra`: `log.info("rolled", extra={"ledger": 7})` ends in `ledger=7`, or has the JSON key `ledger`.

Names and reasons come from clients, so a line of text is bounded here, for all callers: it stays one line, it does not
reach into a terminal, and a text of more than LONGEST_TEXT characters loses its middle.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import IO, Any

FORMATS = ("text", "json")
LEVELS = ("debug", "info", "warning", "error")
LONGEST_TEXT = 600  # characters of a sentence, and of one fact; a name may have 1,024 (maxNameLength)
SHOWN_END = 200  # of those, at the end, where the reason stands

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class TextFormatter(logging.Formatter):
    """`2026-01-02T03:04:05.678Z INFO  broker_core.topic: the sentence key=value`."""

    def format(self, record: logging.LogRecord) -> str:
        facts = "".join(f" {key}={_bare_or_quoted(value)}" for key, value in _facts(record).items())
        sentence = _printable(_shortened(record.getMessage()))
        line = f"{_time(record)} {record.levelname:<7} {record.name}: {sentence}{facts}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """One object per line: `time`, `level`, `logger`, `message`, the facts, and an optional `exception`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _shortened(record.getMessage()),
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


def _shortened(text: str) -> str:
    left_out = len(text) - LONGEST_TEXT
    if left_out <= 0:
        return text
    return f"{text[: LONGEST_TEXT - SHOWN_END]}...({left_out} characters left out)...{text[-SHOWN_END:]}"


def _printable(text: str) -> str:
    """The text with escapes for characters that end a line, move a cursor, or change the direction of writing."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _bare_or_quoted(value: Any) -> str:
    text = _shortened(str(value))
    quoted = json.dumps(text, ensure_ascii=False) if not text or any(c in text for c in ' "=\n') else text
    return _printable(quoted)
