"""Verbs that act on several topics at once: named, listed in a file, matched by a pattern, or all of a namespace."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from pulsarctl.errors import NotFound, PartialFailure, UsageProblem
from pulsarctl.output import streams
from pulsarctl.shell.call import Call
from pulsarctl.values.names import full_topic, namespace_of, without_partition
from pulsarctl.verbs.progress import progress

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient
    from pulsarctl.bulk.crew import Outcome

Found = TypeVar("Found")
NAMES_SHOWN = 5

Topics = Annotated[list[str] | None, typer.Argument(metavar="TOPIC", help="Names of the topics.")]
Regex = Annotated[
    bool, typer.Option("-r", "--regex", help="Treat each TOPIC as a regular expression within its namespace.")
]
InNamespace = Annotated[
    str | None,
    typer.Option(
        "--namespace", metavar="NAMESPACE", help="Namespace of the topics. Without a TOPIC, all of its topics."
    ),
]
FromFile = Annotated[
    str | None,
    typer.Option("--from-file", metavar="FILE", help="File of topic names, one per line, or - for stdin."),
]


@dataclass(frozen=True, slots=True)
class Chosen:
    """Each topic once. `found`: the command line gives a pattern or a namespace, not their names."""

    topics: list[str]
    found: bool

    @property
    def several(self) -> bool:
        """Whether losing their data needs a confirmation without a terminal, too."""
        return self.found or len(self.topics) > 1


def chosen(
    call: Call, topics: list[str] | None, *, regex: bool, from_file: str | None, namespace: str | None = None
) -> Chosen:
    """The topics that a command names, none if nothing matches. Raises `UsageProblem`."""
    names = [*(topics or []), *(_lines(from_file) if from_file else [])]
    if namespace is not None:
        names = [f"{namespace}/{name}" if "/" not in name else name for name in names]
    if not names and namespace is not None:
        return _found(call, namespace, _of_namespace(call, namespace))
    if not names:
        raise UsageProblem("no topic given", hint=f"{call.command_path} TOPIC...")
    if not regex:
        return Chosen(list(dict.fromkeys(names)), found=False)
    return _found(call, ", ".join(names), (name for pattern in names for name in _matching(call, pattern)))


def _found(call: Call, asked: str, names: Iterable[str]) -> Chosen:
    topics = list(dict.fromkeys(names))
    if not topics:
        call.notice(f"no topic matches {asked}")
    return Chosen(topics, found=True)


def shown(chosen: Chosen) -> str:
    """The names for a question, or the first ones and how many there are."""
    names = chosen.topics
    if len(names) <= NAMES_SHOWN:
        return ", ".join(names)
    return f"{len(names):,} topics: {', '.join(names[:NAMES_SHOWN])}, and {len(names) - NAMES_SHOWN:,} more"


def act_on(
    call: Call, chosen: Chosen, action: "Callable[[AdminClient, str], Found]", *, verb: str, parallel: int
) -> list[Found]:
    """Acts on every topic, even after a failure, and returns what `action` does. See `settle`."""
    from pulsarctl.bulk.crew import Crew

    outcomes: list[Outcome[str, Found]] = []
    with Crew(call.settings, min(parallel, max(1, len(chosen.topics)))) as crew, progress(call) as step:
        for outcome in crew.act(chosen.topics, action):
            outcomes.append(outcome)
            step("topics", len(outcomes), len(chosen.topics))
    return settle(call, chosen, outcomes, verb=verb)


def settle(call: Call, chosen: Chosen, outcomes: "list[Outcome[str, Found]]", *, verb: str) -> list[Found]:
    """The values of what succeeded. `verb` is for the error, such as `delete`.

    A topic that was found, not named, is passed over if it, or its subscription, does not exist.

    Raises `PartialFailure` after naming what failed. The failure of a single topic keeps its own exit code.
    """
    missing = [one for one in outcomes if chosen.found and isinstance(one.error, NotFound)]
    if missing and len(missing) == len(outcomes) and missing[0].error is not None:
        raise missing[0].error  # such as a subscription that no topic has
    _raise_failures(call, [one for one in outcomes if one not in missing], verb=verb)
    return [one.value for one in outcomes if one.error is None]  # type: ignore[misc]  # without an error there is one


def _raise_failures(call: Call, outcomes: "list[Outcome[str, Found]]", *, verb: str) -> None:
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    if len(outcomes) == 1 and failed and failed[0].error is not None:
        raise failed[0].error
    for outcome in failed:
        call.notice(f"error: {outcome.item}: {outcome.error.message if outcome.error else ''}", quiet=False)
    if failed:
        raise PartialFailure(f"cannot {verb} {len(failed):,} of {len(outcomes):,} topics")
    if len(outcomes) > 1:
        call.tell(f"{verb}: {len(outcomes):,} topics done")


def _matching(call: Call, pattern: str) -> list[str]:
    """Topics of the pattern's namespace whose full name matches, with partitions as their partitioned topic."""
    try:
        expression = re.compile(full_topic(pattern))
    except re.error as error:
        raise UsageProblem(f"'{pattern}' is not a regular expression: {error}") from error
    return [name for name in _of_namespace(call, namespace_of(pattern)) if expression.fullmatch(name)]


def _of_namespace(call: Call, namespace: str) -> list[str]:
    return list(dict.fromkeys(map(without_partition, call.admin.topics.list(namespace))))


def _lines(path: str) -> list[str]:
    try:
        text = streams.stdin().read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageProblem(f"cannot read {path}: it is not UTF-8 ({error.reason} at byte {error.start})") from error
    return [line.strip() for line in text.splitlines() if line.strip()]
