"""`pulsarctl doctor`: what is wrong with this client, the broker, and its topics."""

from pathlib import Path
from typing import Annotated

import typer

from pulsarctl.errors import PROBLEMS_FOUND, WARNINGS_FOUND
from pulsarctl.output import render
from pulsarctl.output.render import Output, Table
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.quantities import parse_duration

app = Noun("doctor", "Find what is wrong with this client, the broker, and its topics.")

Namespaces = Annotated[
    list[str] | None,
    typer.Option("-n", "--namespace", metavar="NAMESPACE", help="Namespace to include; may be repeated. Default: all."),
]
MaxTopics = Annotated[
    int, typer.Option("--max-topics", metavar="N", min=0, help="Maximum number of topics and partitions to query.")
]
Skip = Annotated[
    list[str] | None,
    typer.Option("--skip", metavar="CODE", help="Code of a finding to leave out; may be repeated."),
]
Timeout = Annotated[
    str, typer.Option("--timeout", metavar="DURATION", help="Maximum time to wait for each answer of the broker.")
]


@app.verb("doctor")
def doctor(
    call: Call,
    namespaces: Namespaces = None,
    max_topics: MaxTopics = 500,
    skip: Skip = None,
    timeout: Timeout = "10s",
) -> None:
    """Find what is wrong with this client, the broker, and its topics.

    The command looks at the configuration of this client and where it comes from, both ports of the broker, versions,
    clocks, the disk, Java and Spark, certificates, stuck subscriptions, holes in acknowledgments, transactions that
    are open for too long, compaction, retention, and backlog quotas. It changes nothing. Each finding is one sentence,
    with a command that shows more or repairs it.

    Exit codes: 0 nothing to do, 11 warnings, 12 problems. Every other code means that doctor itself failed.

    Example: pulsarctl doctor -n public/default --skip no-retention
    """
    from pulsarctl.commands.doctor.checkup import Scope, areas
    from pulsarctl.diagnosis.checkup import area
    from pulsarctl.diagnosis.finding import Severity

    scope = Scope(tuple(namespaces or ()), max_topics, parse_duration(timeout))
    shown = [checked.without(skip or ()) for checked in areas(call, scope)]
    if render.resolve(call.output) in (Output.TABLE, Output.TEXT):
        for line in area.lines(shown):
            render.line_with_state(line)
    else:
        documents = area.documents(shown)
        call.show(documents, Table(("CODE",), [(document["code"],) for document in documents]))
    code = {Severity.PROBLEM: PROBLEMS_FOUND, Severity.WARNING: WARNINGS_FOUND}.get(area.worst(shown), 0)
    raise typer.Exit(code)


@app.verb("bundle")
def bundle(
    call: Call,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write, a .tar.gz. It must not exist.")],
    namespaces: Namespaces = None,
    max_topics: MaxTopics = 500,
    logs: Annotated[
        list[Path] | None,
        typer.Option("--log", metavar="FILE", help="Log file to include, up to its last 10 MiB; may be repeated."),
    ] = None,
    timeout: Timeout = "10s",
) -> None:
    """Collect configuration, statistics, metrics, and logs in one file, without secrets.

    Attach the file to a bug report. Tokens, passwords, and keys are masked by their names, by their form, and wherever
    the same text appears again. The file contains names of topics, subscriptions, roles, and hosts, but no messages.
    Read it before you send it: a secret with neither a telling name nor a known form is not recognized.

    Example: pulsarctl doctor bundle report.tar.gz -n public/default --log /var/log/pulsarctl.log
    """
    from pulsarctl.commands.doctor.bundle import collect
    from pulsarctl.commands.doctor.checkup import Scope

    scope = Scope(tuple(namespaces or ()), max_topics, parse_duration(timeout))
    archive = collect(call, scope, logs or ())
    archive.write(file)
    call.show({"file": str(file), "entries": len(archive.names)}, as_map=True)
