"""Verbs that act on several namespaces at once: named, listed in a file, matched by a pattern, or all of a tenant."""

from collections.abc import Iterator
from typing import Annotated

import typer

from pulsarctl.errors import UsageProblem
from pulsarctl.shell.call import Call
from pulsarctl.targets.many import Kind, Targets, choose, pattern

Namespaces = Annotated[
    list[str] | None, typer.Argument(metavar="NAMESPACE", help="Names of the namespaces, as TENANT/NAMESPACE.")
]
Regex = Annotated[bool, typer.Option("--regex", help="Treat each NAMESPACE as a regular expression within its tenant.")]
InTenant = Annotated[
    str | None,
    typer.Option(
        "--tenant", metavar="TENANT", help="Tenant of the namespaces. Without a NAMESPACE, all of its namespaces."
    ),
]
FromFile = Annotated[
    str | None,
    typer.Option("--from-file", metavar="FILE", help="File of namespace names, one per line, or - for stdin."),
]


def chosen(
    call: Call, namespaces: list[str] | None, *, regex: bool, from_file: str | None, tenant: str | None
) -> Targets:
    """The namespaces that a command names, none if nothing matches. Raises `UsageProblem`."""
    return choose(call, KIND, namespaces, regex=regex, from_file=from_file, place=tenant)


def _matching(call: Call, asked: str) -> Iterator[str]:
    expression, (tenant, slash, _) = pattern(asked, asked), asked.partition("/")
    if not slash:
        raise UsageProblem(f"no tenant in the pattern '{asked}'", hint=f"write TENANT/{asked}, or add --tenant")
    return (name for name in _of_tenant(call, tenant) if expression.fullmatch(name))


def _of_tenant(call: Call, tenant: str) -> list[str]:
    return call.admin.namespaces.list(tenant)


KIND = Kind("namespace", "TENANT/NAMESPACE", _of_tenant, _matching)
