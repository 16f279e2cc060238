"""The result of a check, as monitoring systems read it: a state, a line, and measured values with their limits. Pure.

The line and the exit codes are those of Nagios plugins (Monitoring Plugins Development Guidelines, "Plugin Output").
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from pulsarctl.errors import UsageProblem

SHOWN_MAX = 3  # of several values: the worst


class State(IntEnum):
    """The values are the exit codes. `UNKNOWN` is not the worst: a known failure is."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3


ORDER = (State.OK, State.UNKNOWN, State.WARNING, State.CRITICAL)


@dataclass(frozen=True, slots=True)
class Limits:
    """Above which values, or `below` which ones, a state begins; None for none. Raises `UsageProblem`."""

    warning: float | None = None
    critical: float | None = None
    below: bool = False

    def __post_init__(self) -> None:
        if self.warning is not None and self.critical is not None and self._is_worse(self.warning, self.critical):
            order = "above" if self.below else "below"
            raise UsageProblem(f"the warning limit must be {order} the critical limit", hint="exchange -w and -c")

    def state(self, value: float) -> State:
        for state, limit in ((State.CRITICAL, self.critical), (State.WARNING, self.warning)):
            if limit is not None and self._is_worse(value, limit):
                return state
        return State.OK

    def _is_worse(self, value: float, limit: float) -> bool:
        return value < limit if self.below else value > limit


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measured value. `unit` is one of Nagios: `s`, `B`, `%`, or nothing. `words`: a sentence without its period."""

    label: str
    value: float
    unit: str
    words: str
    limits: Limits
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def state(self) -> State:
        return self.limits.state(self.value)


@dataclass(frozen=True, slots=True)
class Result:
    """`failure`: why nothing was measured, in the state `failed`. `idle`: what to say if there is nothing to measure.

    `metric` is the name of the value in a text file for Prometheus.
    """

    check: str
    metric: str
    readings: Sequence[Measurement] = ()
    failure: str = ""
    failed: State = State.UNKNOWN
    idle: str = "nothing to check"
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def state(self) -> State:
        if self.failure:
            return self.failed
        return max((reading.state for reading in self.readings), key=ORDER.index, default=State.OK)

    @property
    def words(self) -> str:
        if self.failure or not self.readings:
            return self.failure or self.idle
        worst = sorted(self.readings, key=lambda reading: (-ORDER.index(reading.state), reading.label))
        more = f"; {len(worst) - SHOWN_MAX} more" if len(worst) > SHOWN_MAX else ""
        return "; ".join(reading.words for reading in worst[:SHOWN_MAX]) + more


def nagios(result: Result) -> str:
    """Return one line: the state with its reason, and after the bar the values with their limits."""
    line = f"{result.check.upper()} {result.state.name} - {_plain(result.words)}"
    values = " ".join(_performance(reading) for reading in result.readings)
    return f"{line} | {values}" if values else line


def document(result: Result) -> dict[str, Any]:
    """Return the result as the object for `-o json`."""
    return {
        "check": result.check,
        "state": result.state.name,
        "message": result.words,
        "values": [
            {
                **reading.labels,
                "value": reading.value,
                "warning": reading.limits.warning,
                "critical": reading.limits.critical,
            }
            for reading in result.readings
        ],
    }


def number(value: float | None) -> str:
    """The number without an unnecessary fraction or exponent."""
    if value is None:
        return ""
    return str(int(value)) if value == int(value) else f"{value:.6f}".rstrip("0")


def _performance(reading: Measurement) -> str:
    """`'label'=value;warning;critical;minimum`. `10:` is a limit that values must not be below."""
    end = ":" if reading.limits.below else ""
    limits = [
        number(limit) + end if limit is not None else "" for limit in (reading.limits.warning, reading.limits.critical)
    ]
    label = reading.label.replace("'", "''").replace("=", "_")
    return f"'{_plain(label)}'={number(reading.value)}{reading.unit};{limits[0]};{limits[1]};0"


def _plain(text: str) -> str:
    """The text on one line, without the bar, which begins the values."""
    return " ".join(text.replace("|", "/").split())
