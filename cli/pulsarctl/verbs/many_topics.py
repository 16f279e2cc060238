"""Verbs that act on several topics at once: named, listed in a file, matched by a pattern, or all of a namespace."""

from collections.abc import Iterator
from typing import Annotated

import typer

from pulsarctl.errors import UsageProblem
from pulsarctl.shell.call import Call
from pulsarctl.values.names import full_topic, namespace_of, without_partition
from pulsarctl.verbs.many import Chosen, lines, pattern

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


def chosen(
    call: Call, topics: list[str] | None, *, regex: bool, from_file: str | None, namespace: str | None = None
) -> Chosen:
    """The topics that a command names, none if nothing matches. Raises `UsageProblem`."""
    names = [*(topics or []), *(lines(from_file) if from_file else [])]
    if namespace is not None:
        names = [f"{namespace}/{name}" if "/" not in name else name for name in names]
    if not names and namespace is not None:
        return Chosen.matching(call, namespace, _of_namespace(call, namespace))
    if not names:
        raise UsageProblem("no topic given", hint=f"{call.command_path} TOPIC...")
    if not regex:
        return Chosen.named(names)
    return Chosen.matching(call, ", ".join(names), (name for each in names for name in _matching(call, each)))


def _matching(call: Call, asked: str) -> Iterator[str]:
    """Topics of the pattern's namespace whose full name matches, with partitions as their partitioned topic."""
    expression = pattern(full_topic(asked), asked)
    return (name for name in _of_namespace(call, namespace_of(asked)) if expression.fullmatch(name))


def _of_namespace(call: Call, namespace: str) -> list[str]:
    return list(dict.fromkeys(map(without_partition, call.admin.topics.list(namespace))))
