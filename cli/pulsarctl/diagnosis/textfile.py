"""The result of a check as a text file for the collector of Prometheus' node exporter. Pure."""

from collections.abc import Iterator, Mapping

from pulsarctl.diagnosis.checks import Result, number

STATE = "pulsarctl_check_state"
TIME = "pulsarctl_check_time_seconds"


def textfile(result: Result, now_ms: int) -> str:
    return "".join(f"{line}\n" for line in _lines(result, now_ms))


def _lines(result: Result, now_ms: int) -> Iterator[str]:
    labels = {"check": result.check, **result.labels}
    yield f"# HELP {STATE} State of the check: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN."
    yield f"# TYPE {STATE} gauge"
    yield f"{STATE}{_labels(labels)} {result.state.value}"
    yield f"# HELP {TIME} When the check ran, in seconds since the epoch."
    yield f"# TYPE {TIME} gauge"
    yield f"{TIME}{_labels(labels)} {number(now_ms / 1000)}"
    if result.readings:
        yield f"# HELP {result.metric} What the check measured."
        yield f"# TYPE {result.metric} gauge"
    for reading in result.readings:
        yield f"{result.metric}{_labels({**result.labels, **reading.labels})} {number(reading.value)}"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
