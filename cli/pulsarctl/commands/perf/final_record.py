"""The record that a measurement prints at its end, and the errors that end it."""

from collections.abc import Sequence

from pulsarctl.errors import CannotConnect, CliError, PartialFailure, UsageProblem
from pulsarctl.output import render
from pulsarctl.output.render import Output, Table
from pulsarctl.perf.record import Measured, rows
from pulsarctl.perf.running import Run
from pulsarctl.shell.call import Call

CSV = "csv"


def use_format(call: Call, text: str | None) -> bool:
    """Sets the format of the final record; returns whether it is CSV, which no other command has."""
    if text is None or text.lower() == CSV:
        return text is not None
    if text.lower() not in (*Output, CSV):
        raise UsageProblem(f"unknown output format '{text}'", hint=f"use one of {', '.join(Output)}, or {CSV}")
    call.obj["output"] = text.lower()
    return False


def show(call: Call, measured: Sequence[Measured], *, as_csv: bool) -> None:
    records = [side.record() for side in measured]
    if as_csv:
        render.comma_separated(list(records[0]), [list(record.values()) for record in records])
    elif render.resolve(call.output) is Output.TEXT:
        for record in records:
            call.show(record, as_map=True)
    else:
        columns = ("Measured", *(str(record["role"]) for record in records))
        call.show(records if len(records) > 1 else records[0], Table(columns, rows(records)))


def conclude(call: Call, run: Run, measured: Sequence[Measured], *, as_csv: bool) -> None:
    """Prints the final record. Then raises the error that ended the run, or that of failed messages."""
    show(call, measured, as_csv=as_csv)
    if run.is_interrupted:
        call.notice("interrupted: the record is that of the time until then")
    for side in measured:
        if side.counts.messages and not side.counts.latencies.count:
            call.notice("no latencies: every message was sent within the warm-up; use --warmup-time 0")
            break
    if run.problem is not None:
        raise run.problem
    for side in measured:
        if side.counts.failures:
            raise _failure(side)


def _failure(measured: Measured) -> CliError:
    from pulsarctl.client.client_errors import problem
    from pulsarctl.perf.receiving import CONNECTION_LOST

    counts = measured.counts
    reason, _ = counts.errors.most_common(1)[0]
    if reason == CONNECTION_LOST:
        return CannotConnect(f"the connection to the broker was lost {counts.errors[reason]} times", reason=reason)
    first = problem(reason, measured.role, "")
    if not counts.messages:
        return first
    whole = counts.messages + counts.failures
    return PartialFailure(
        f"{counts.failures:,} of {whole:,} messages were not acknowledged; {first.message}", reason=reason
    )
