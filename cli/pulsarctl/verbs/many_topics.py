"""Verbs that act on several topics at once: named, listed in a file, or matched by a pattern."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pulsarctl.errors import PartialFailure, UsageProblem
from pulsarctl.output import streams
from pulsarctl.shell.call import Call
from pulsarctl.values.names import full_topic, namespace_of, without_partition
from pulsarctl.verbs.progress import progress

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient
    from pulsarctl.bulk.crew import Outcome

NAMES_SHOWN = 5

Topics = Annotated[list[str] | None, typer.Argument(metavar="TOPIC", help="Names of the topics.")]
Regex = Annotated[
    bool, typer.Option("-r", "--regex", help="Treat each TOPIC as a regular expression within its namespace.")
]
FromFile = Annotated[
    str | None,
    typer.Option("--from-file", metavar="FILE", help="File of topic names, one per line, or - for stdin."),
]


def chosen(call: Call, topics: list[str] | None, *, regex: bool, from_file: str | None) -> list[str]:
    """The topics that a command names, each once. Raises `UsageProblem`."""
    names = [*(topics or []), *(_lines(from_file) if from_file else [])]
    if not names:
        raise UsageProblem("no topic given", hint=f"{call.command_path} TOPIC...")
    if not regex:
        return list(dict.fromkeys(names))
    found = list(dict.fromkeys(name for pattern in names for name in _matching(call, pattern)))
    if not found:
        call.notice(f"no topic matches {', '.join(names)}")
    return found


def shown(names: list[str]) -> str:
    """The names for a question, or the first ones and how many there are."""
    if len(names) <= NAMES_SHOWN:
        return ", ".join(names)
    return f"{len(names):,} topics: {', '.join(names[:NAMES_SHOWN])}, and {len(names) - NAMES_SHOWN:,} more"


def act_on(
    call: Call, names: list[str], action: "Callable[[AdminClient, str], None]", *, verb: str, parallel: int
) -> None:
    """Acts on every topic, even after a failure. `verb` is for the error, such as `delete`.

    Raises `PartialFailure` after naming what failed. The failure of a single topic keeps its own exit code.
    """
    from pulsarctl.bulk.crew import Crew

    failed: list[Outcome[str, None]] = []
    with Crew(call.settings, min(parallel, max(1, len(names)))) as crew, progress(call) as step:
        for done, outcome in enumerate(crew.act(names, action), 1):
            step("topics", done, len(names))
            if outcome.error is not None:
                failed.append(outcome)
    if len(names) == 1 and failed and failed[0].error is not None:
        raise failed[0].error
    for outcome in failed:
        call.notice(f"error: {outcome.item}: {outcome.error.message if outcome.error else ''}", quiet=False)
    if failed:
        raise PartialFailure(f"cannot {verb} {len(failed):,} of {len(names):,} topics")
    if len(names) > 1:
        call.tell(f"{verb}: {len(names):,} topics done")


def _matching(call: Call, pattern: str) -> list[str]:
    """Topics of the pattern's namespace whose full name matches, with partitions as their partitioned topic."""
    try:
        expression = re.compile(full_topic(pattern))
    except re.error as error:
        raise UsageProblem(f"'{pattern}' is not a regular expression: {error}") from error
    found = call.admin.topics.list(namespace_of(pattern))
    return [name for name in dict.fromkeys(map(without_partition, found)) if expression.fullmatch(name)]


def _lines(path: str) -> list[str]:
    try:
        text = streams.stdin().read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageProblem(f"cannot read {path}: it is not UTF-8 ({error.reason} at byte {error.start})") from error
    return [line.strip() for line in text.splitlines() if line.strip()]
