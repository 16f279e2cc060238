"""`pulsarctl check`: values and limits for Nagios and for Prometheus."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.exceptions import TyperException

from pulsarctl.errors import CannotConnect, CliError, TimedOut, UsageProblem
from pulsarctl.output import render
from pulsarctl.output.render import Table
from pulsarctl.shell.arguments import Topic
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.names import full_topic
from pulsarctl.values.quantities import parse_duration

if TYPE_CHECKING:
    from pulsarctl.diagnosis.checks import Limits, Measurement, Result

Measure = Callable[["Limits"], Sequence["Measurement"]]

UNKNOWN = 3
PROBE_TOPIC = "public/default/pulsarctl-check"

Warn = Annotated[str | None, typer.Option("-w", "--warn", metavar="LIMIT", help="Limit of the state WARNING.")]
Critical = Annotated[str | None, typer.Option("-c", "--critical", metavar="LIMIT", help="Limit of the state CRITICAL.")]
Subscription = Annotated[
    str | None,
    typer.Option("-s", "--subscription", metavar="SUBSCRIPTION", help="Name of the subscription. Default: all."),
]
TextFile = Annotated[
    Path | None,
    typer.Option(
        "--textfile", metavar="FILE", help="File to replace with the result, for Prometheus' text file collector."
    ),
]
Timeout = Annotated[
    str, typer.Option("--timeout", metavar="DURATION", help="Maximum time to wait for each answer of the broker.")
]

app = Noun("check", "Check limits for a monitoring system: backlog, age, throughput, latency, disk, certificates.")


@app.verb("backlog")
def backlog(
    call: Call,
    topic: Topic,
    subscription: Subscription = None,
    warn: Warn = None,
    critical: Critical = None,
    textfile: TextFile = None,
    timeout: Timeout = "10s",
) -> None:
    """Check the number of unacknowledged messages of each subscription.

    Apache Pulsar reports entries instead: there, a batch of several messages counts once.

    Prints one line as Nagios plugins do. Exit codes: 0 OK, 1 WARNING, 2 CRITICAL (or no connection), 3 UNKNOWN.

    Example: pulsarctl check backlog orders -s billing -w 10000 -c 100000
    """
    from pulsarctl.commands.check import checking

    check = _Check("backlog", "pulsarctl_check_backlog", {"topic": full_topic(topic)}, textfile, timeout)
    limits = _limits(warn, critical, _count)
    check.run(call, limits, lambda bounds: checking.backlog(call, topic, subscription, bounds))


@app.verb("age")
def age(
    call: Call,
    topic: Topic,
    subscription: Subscription = None,
    warn: Warn = None,
    critical: Critical = None,
    textfile: TextFile = None,
    timeout: Timeout = "10s",
) -> None:
    """Check the age of the oldest unacknowledged message of each subscription.

    Prints one line as Nagios plugins do. Exit codes: 0 OK, 1 WARNING, 2 CRITICAL (or no connection), 3 UNKNOWN.

    Example: pulsarctl check age orders -w 5m -c 1h
    """
    from pulsarctl.commands.check import checking

    check = _Check("age", "pulsarctl_check_age_seconds", {"topic": full_topic(topic)}, textfile, timeout)
    limits = _limits(warn, critical, parse_duration)
    check.run(call, limits, lambda bounds: checking.oldest(call, topic, subscription, bounds))


@app.verb("throughput")
def throughput(
    call: Call,
    topic: Topic,
    out: Annotated[bool, typer.Option("--out", help="Check what is delivered, not what is published.")] = False,
    warn: Warn = None,
    critical: Critical = None,
    textfile: TextFile = None,
    timeout: Timeout = "10s",
) -> None:
    """Check that enough messages per second are published or delivered.

    The limits are the lowest rates. Apache Pulsar averages its rates over a minute.

    Prints one line as Nagios plugins do. Exit codes: 0 OK, 1 WARNING, 2 CRITICAL (or no connection), 3 UNKNOWN.

    Example: pulsarctl check throughput orders -w 100 -c 1
    """
    from pulsarctl.commands.check import checking

    metric = "pulsarctl_check_throughput_messages_per_second"
    check = _Check("throughput", metric, {"topic": full_topic(topic)}, textfile, timeout)
    limits = _limits(warn, critical, _count, below=True)
    check.run(call, limits, lambda bounds: checking.throughput(call, topic, "out" if out else "in", bounds))


@app.verb("latency")
def latency(
    call: Call,
    topic: Annotated[
        str, typer.Argument(metavar="TOPIC", help="Topic to publish to, which no application should use.")
    ] = PROBE_TOPIC,
    warn: Warn = "500ms",
    critical: Critical = "2s",
    count: Annotated[int, typer.Option("--count", metavar="N", min=1, max=1000, help="Number of messages.")] = 5,
    textfile: TextFile = None,
    timeout: Timeout = "10s",
) -> None:
    """Check the time that a message takes from a producer to a reader.

    Publishes messages to a separate topic, and reads them without a subscription. The result is the median.

    Prints one line as Nagios plugins do. Exit codes: 0 OK, 1 WARNING, 2 CRITICAL (or no connection), 3 UNKNOWN.

    Example: pulsarctl check latency -w 100ms -c 1s
    """
    from pulsarctl.commands.check import checking

    render.guard_stdout()
    check = _Check("latency", "pulsarctl_check_latency_seconds", {"topic": full_topic(topic)}, textfile, timeout)
    limits = _limits(warn, critical, parse_duration)
    check.run(call, limits, lambda bounds: checking.latency(call, topic, count, parse_duration(timeout), bounds))


@app.verb("disk")
def disk(
    call: Call,
    path: Annotated[
        Path | None,
        typer.Option("--path", metavar="DIR", help="Directory on this machine to check. Default: the broker's."),
    ] = None,
    warn: Warn = "85",
    critical: Critical = "95",
    textfile: TextFile = None,
    timeout: Timeout = "10s",
) -> None:
    """Check how much of the broker's disk is used, in percent.

    Apache Pulsar's brokers do not report the disks of bookies: run this on each bookie with --path.

    Prints one line as Nagios plugins do. Exit codes: 0 OK, 1 WARNING, 2 CRITICAL (or no connection), 3 UNKNOWN.

    Example: pulsarctl check disk -w 80 -c 90
    """
    from pulsarctl.commands.check import checking

    check = _Check("disk", "pulsarctl_check_disk_used_percent", {}, textfile, timeout)
    limits = _limits(warn, critical, _count)
    check.run(call, limits, lambda bounds: checking.disk(call, path, bounds))


@app.verb("certificate")
def certificate(
    call: Call,
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help="PEM file to check. Default: what the servers present."),
    ] = None,
    warn: Warn = "30d",
    critical: Critical = "7d",
    textfile: TextFile = None,
    timeout: Timeout = "10s",
) -> None:
    """Check how long the certificates of the admin API and of the broker are valid.

    Prints one line as Nagios plugins do. Exit codes: 0 OK, 1 WARNING, 2 CRITICAL (or no connection), 3 UNKNOWN.

    Example: pulsarctl check certificate -w 21d -c 3d
    """
    from pulsarctl.commands.check import checking

    check = _Check("certificate", "pulsarctl_check_certificate_left_seconds", {}, textfile, timeout)
    limits = _limits(warn, critical, parse_duration, below=True)
    check.run(call, limits, lambda bounds: checking.certificate(call, file, parse_duration(timeout), bounds))


class _Check:
    """One check, which measures, prints the line, writes the text file, and exits with the state."""

    def __init__(self, name: str, metric: str, labels: Mapping[str, str], textfile: Path | None, timeout: str) -> None:
        self._name, self._metric, self._labels = name, metric, labels
        self._textfile = textfile
        self._timeout_seconds = parse_duration(timeout)

    def run(self, call: Call, limits: "Limits", measure: Measure) -> None:
        from pulsarctl.diagnosis import checks
        from pulsarctl.diagnosis.checks import Result, State

        try:
            call.wait_at_most(self._timeout_seconds)
            result = Result(self._name, self._metric, measure(limits), labels=self._labels)
        except CliError as error:
            is_down = isinstance(error, CannotConnect | TimedOut)
            state = State.CRITICAL if is_down else State.UNKNOWN
            result = Result(self._name, self._metric, failure=error.message, failed=state, labels=self._labels)
        if render.is_structured(call.output):
            call.show(checks.document(result), Table(("CHECK",), [(result.check,)]))
        else:
            render.line_with_state(checks.nagios(result), f"{self._name.upper()} ")
        if self._textfile is not None:
            self._write(self._textfile, result)
        raise typer.Exit(result.state.value)

    def _write(self, path: Path, result: "Result") -> None:
        from pulsarctl.diagnosis.textfile import textfile
        from pulsarctl.output.whole_file import replace
        from pulsarctl.values.clock import now_ms

        replace(path, textfile(result, now_ms()))


def _limits(warn: str | None, critical: str | None, parse: Callable[[str], float], *, below: bool = False) -> "Limits":
    from pulsarctl.diagnosis.checks import Limits

    warning, worse = (None if text is None else parse(text) for text in (warn, critical))
    return Limits(warning, worse, below)


def _count(text: str) -> float:
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageProblem(f"'{text}' is not a number")
    return number


def _unknown(problem: Exception) -> int:
    """No error may look like a measured state: usage errors exit as CRITICAL does, and bugs as WARNING does."""
    if type(problem).__name__ == "NoArgsIsHelpError":
        render.usage(problem.ctx.get_help())  # type: ignore[attr-defined]  # the class is not public
        return UNKNOWN
    text = getattr(problem, "format_message", problem.__str__)()
    if not isinstance(problem, CliError | TyperException | OSError):
        text = f"internal error: {type(problem).__name__}: {text}"
    render.line_with_state(f"CHECK UNKNOWN - {' '.join(text.split())}", "CHECK ")
    return UNKNOWN


app.exit_code_of = _unknown
