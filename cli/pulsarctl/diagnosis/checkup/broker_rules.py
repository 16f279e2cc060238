"""Rules for a broker: whether it answers, its version, its clock, and its free disk. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pulsarctl.diagnosis.finding import Certainty, Finding, Severity
from pulsarctl.diagnosis.words import age, command
from pulsarctl.values.quantities import human_size

OLDEST_SUPPORTED = (2, 10)  # the first with the admin API for topic policies on by default
SKEW_WARNING_MS = 2_000
SKEW_PROBLEM_MS = 30_000
DISK_WARNING = 0.15
DISK_PROBLEM = 0.05


@dataclass(frozen=True, slots=True)
class Port:
    """`failure` is empty if it answers; `next_step` is what to do otherwise."""

    name: str
    url: str
    failure: str = ""
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class Versions:
    """`broker` is empty if it is unknown. `is_ours`: the broker is pulsarctl's own."""

    pulsarctl: str
    python: str
    client: str
    broker: str
    is_ours: bool


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk, in bytes; `place` names it. `is_full`: the broker refuses messages for lack of space."""

    place: str
    free: int
    total: int
    is_full: bool = False

    @property
    def used_percent(self) -> float:
        if self.is_full:
            return 100.0
        return 100 * (1 - self.free / self.total) if self.total else 0.0


def port(endpoint: Port) -> Finding:
    if endpoint.failure:
        step = command("context", "show", "--resolved")
        return Finding(
            f"{endpoint.name}-unreachable",
            Severity.PROBLEM,
            f"{endpoint.failure[:1].upper()}{endpoint.failure[1:]}.",
            endpoint.next_step or step,
        )
    return Finding(
        f"{endpoint.name}-answers", Severity.OK, f"The {endpoint.name.replace('-', ' ')} answers at {endpoint.url}."
    )


def cluster(by_admin: str, by_broker: str) -> Finding:
    """The owner of one topic by each address, "" for an unknown namespace. One that moves in between has two, too."""
    if by_admin == by_broker:
        return Finding("one-cluster", Severity.OK, "The admin API and the broker belong to one cluster.")
    by_admin, by_broker = (
        f"names {owner}" if owner else "does not know its namespace" for owner in (by_admin, by_broker)
    )
    return Finding(
        "other-cluster",
        Severity.PROBLEM,
        f"The admin API and the broker belong to two clusters: for the owner of a topic, the admin API "
        f"{by_admin}, and the broker {by_broker}.",
        command("context", "show", "--resolved"),
        Certainty.LIKELY,
    )


def health(state: str) -> Finding:
    """`state`: what the health check says, `ok` or why not."""
    if state == "ok":
        return Finding("healthy", Severity.OK, "The broker's own health check passes.")
    return Finding(
        "unhealthy",
        Severity.PROBLEM,
        f"The broker's own health check fails: {state}.",
        command("brokers", "healthcheck"),
    )


def versions(running: Versions) -> Iterator[Finding]:
    kind = "pulsarctl" if running.is_ours else "Apache Pulsar"
    broker = f"the broker is {kind} {running.broker}" if running.broker else "the version of the broker is unknown"
    yield Finding(
        "versions",
        Severity.OK,
        f"This is pulsarctl {running.pulsarctl} on Python {running.python} with pulsar-client {running.client}; "
        f"{broker}.",
        command("version"),
    )
    match = re.match(r"(\d+)\.(\d+)", running.broker)
    if running.is_ours and running.broker != running.pulsarctl:
        yield Finding(
            "other-version",
            Severity.WARNING,
            f"The broker runs pulsarctl {running.broker}, and this is {running.pulsarctl}: restart the broker to "
            "update it.",
            command("version"),
        )
    elif not running.is_ours and match and (int(match[1]), int(match[2])) < OLDEST_SUPPORTED:
        yield Finding(
            "old-broker",
            Severity.WARNING,
            f"Apache Pulsar {running.broker} is older than 2.10: it lacks endpoints that some commands need.",
            command("version"),
        )


def clock(skew_ms: int | None) -> Finding:
    """`skew_ms`: how far the broker's clock is ahead of ours; None if the broker does not tell the time."""
    if skew_ms is None:
        return Finding(
            "clock-unknown", Severity.OK, "The broker does not report its time.", "timedatectl status", Certainty.LIKELY
        )
    if abs(skew_ms) < SKEW_WARNING_MS:
        return Finding("clock", Severity.OK, "The clocks of the broker and of this machine agree.")
    direction = "ahead of" if skew_ms > 0 else "behind"
    return Finding(
        "clock-skew",
        Severity.PROBLEM if abs(skew_ms) >= SKEW_PROBLEM_MS else Severity.WARNING,
        f"The broker's clock is {age(abs(skew_ms))} {direction} this machine's: ages, delays, and the expiry of tokens "
        "are wrong by as much.",
        "timedatectl status",
    )


def disk(usage: Disk | None) -> Finding:
    """`usage`: None if the broker does not report it."""
    if usage is None:
        return Finding(
            "disk-unknown",
            Severity.OK,
            "Brokers of Apache Pulsar do not report disk usage; check each bookie.",
            command("bookies", "list-bookies"),
            Certainty.LIKELY,
        )
    left = 1 - usage.used_percent / 100
    sentence = f"{human_size(usage.free)} of {human_size(usage.total)} are free on {usage.place}."
    if usage.is_full:
        sentence = f"The broker refuses messages because its disk is full. {sentence}"
    if left > DISK_WARNING:
        return Finding("disk", Severity.OK, sentence)
    severity = Severity.PROBLEM if left <= DISK_PROBLEM else Severity.WARNING
    return Finding("disk-full", severity, sentence, command("describe", "broker"))


def unanswered(reason: str) -> Finding:
    return Finding(
        "not-answered", Severity.WARNING, f"Not everything was checked: {reason}.", command("brokers", "version")
    )
