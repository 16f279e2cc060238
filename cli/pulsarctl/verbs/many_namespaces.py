"""Verbs that act on several namespaces at once: named, listed in a file, matched by a pattern, or all of a tenant."""

from collections.abc import Iterator
from typing import Annotated

import typer

from pulsarctl.errors import UsageProblem
from pulsarctl.shell.call import Call
from pulsarctl.verbs.many import Chosen, lines, pattern

KIND = "namespace"
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
) -> Chosen:
    """The namespaces that a command names, none if nothing matches. Raises `UsageProblem`."""
    names = [*(namespaces or []), *(lines(from_file) if from_file else [])]
    if tenant is not None:
        names = [f"{tenant}/{name}" if "/" not in name else name for name in names]
    if not names and tenant is not None:
        return Chosen.matching(call, tenant, call.admin.namespaces.list(tenant), KIND)
    if not names:
        raise UsageProblem("no namespace given", hint=f"{call.command_path} TENANT/NAMESPACE...")
    if not regex:
        return Chosen.named(names, KIND)
    return Chosen.matching(call, ", ".join(names), (name for each in names for name in _matching(call, each)), KIND)


def _matching(call: Call, asked: str) -> Iterator[str]:
    expression, (tenant, slash, _) = pattern(asked, asked), asked.partition("/")
    if not slash:
        raise UsageProblem(f"no tenant in the pattern '{asked}'", hint=f"write TENANT/{asked}, or add --tenant")
    return (name for name in call.admin.namespaces.list(tenant) if expression.fullmatch(name))
