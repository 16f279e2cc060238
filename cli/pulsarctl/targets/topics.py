"""Verbs that act on several topics at once: named, listed in a file, matched by a pattern, or all of a namespace."""

from collections.abc import Iterator
from typing import Annotated

import typer

from pulsarctl.shell.call import Call
from pulsarctl.targets.many import Kind, Targets, choose, pattern
from pulsarctl.values.names import full_topic, namespace_of, without_partition

Topics = Annotated[list[str] | None, typer.Argument(metavar="TOPIC", help="Names of the topics.")]
Regex = Annotated[
    bool, typer.Option("-r", "--regex", help="Treat each TOPIC as a regular expression within its namespace.")
]
RegexWithoutR = Annotated[bool, typer.Option("--regex", help=Regex.__metadata__[0].help)]  # for verbs with another -r
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
) -> Targets:
    """The topics that a command names, none if nothing matches. Raises `UsageProblem`."""
    return choose(call, KIND, topics, regex=regex, from_file=from_file, place=namespace)


def _matching(call: Call, asked: str) -> Iterator[str]:
    """Topics of the pattern's namespace whose full name matches, with partitions as their partitioned topic."""
    expression = pattern(full_topic(asked), asked)
    return (name for name in _of_namespace(call, namespace_of(asked)) if expression.fullmatch(name))


def _of_namespace(call: Call, namespace: str) -> list[str]:
    return list(dict.fromkeys(map(without_partition, call.admin.topics.list(namespace))))


KIND = Kind("topic", "TOPIC", _of_namespace, _matching)
