"""Texts of options -> values, with one clear error each. Used by the options of reading, streaming, and writing."""

import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pulsarctl.errors import UsageProblem

Reader = Callable[[str, str], Any]
"""Gets the name and the text of an option. Raises `UsageProblem`."""

# What other connectors call it. Spark passes names in lower case.
RENAMED = {
    "service.url": "service_url",
    "service-url": "service_url",
    "admin.url": "admin_url",
    "admin-url": "admin_url",
    "subscribe": "topics",
    "subscribepattern": "topics_pattern",
    "topicspattern": "topics_pattern",
    "startingoffsets": "start",
    "startingtime": "start",
    "startingtimestamp": "start",
    "endingoffsets": "end",
    "endingtime": "end",
    "endingtimestamp": "end",
    "maxoffsetspertrigger": "max_messages_per_trigger",
    "maxbytespertrigger": "max_bytes_per_trigger",
    "minoffsetspertrigger": "min_messages_per_trigger",
    "maxtriggerdelay": "max_trigger_delay",
    "minpartitions": "tasks_min",
    "maxrecordsperpartition": "entries_per_task",
    "failondataloss": "fail_on_data_loss",
    "predefinedsubscription": "subscription",
    "kafka.group.id": "subscription",
    "pulsar.client.authparams": "token",
    "pulsar.client.authparamsstring": "token",
}


def read_options(texts: Mapping[str, str], readers: Mapping[str, Reader]) -> dict[str, Any]:
    """The values of all options. Raises `UsageProblem` for an unknown one and for a text that is not a value."""
    for name in sorted(texts):
        if name not in readers:
            raise UsageProblem(f"the pulsar source has no option {name}", hint=_hint(name, readers))
    return {name: readers[name](name, text) for name, text in texts.items()}


def _hint(name: str, known: Iterable[str]) -> str:
    names = list(known)
    meant = RENAMED.get(name) or next(iter(difflib.get_close_matches(name, names, 1)), None)
    return f"use {meant}" if meant in names else f"its options are {', '.join(names)}"


def a_text(name: str, text: str) -> str:
    return text


def some_names(name: str, text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",") if item.strip())


def a_count(name: str, text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise UsageProblem(f"option {name}: '{text}' is not a number of at least 1")
    return int(text)


def some_bytes(name: str, text: str) -> int:
    """`1000000`, `64m`, `1g`: multiples of 1024."""
    match = re.fullmatch(r"(\d+)([kmg]?)b?", text.strip().lower())
    if match is None or not int(match[1]):
        raise UsageProblem(f"option {name}: '{text}' is not a size", hint="use bytes, such as 1048576 or 64m")
    return int(match[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[match[2]]


def some_seconds(name: str, text: str) -> float:
    """`30`, `30s`, `15m`, `1h`, `500ms`."""
    match = re.fullmatch(r"([\d.]+)\s*(ms|s|m|h|)", text.strip().lower())
    try:
        number = float(match[1]) if match else math.nan
    except ValueError:
        number = math.nan
    if match is None or not number > 0:
        raise UsageProblem(f"option {name}: '{text}' is not a duration", hint="use seconds, such as 30, 500ms, or 15m")
    return number * {"": 1, "s": 1, "ms": 0.001, "m": 60, "h": 3600}[match[2]]


def yes_or_no(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise UsageProblem(f"option {name}: '{text}' is neither true nor false")
    return text.lower() == "true"


def one_of(*choices: str) -> Reader:
    def read(name: str, text: str) -> str:
        if text.lower() not in choices:
            raise UsageProblem(f"option {name}: '{text}' is not one of {', '.join(choices)}")
        return text.lower()

    return read


def a_pattern(name: str, text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise UsageProblem(f"option {name}: '{text}' is not a regular expression: {error}") from error
    return text
