"""`pulsarctl context`: named sets of addresses and credentials, in the file of the Go tool of the same name."""

import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any

import typer

from pulsarctl.errors import NotFound, UsageProblem
from pulsarctl.output.render import Table
from pulsarctl.settings.addresses import admin_urls, service_addresses
from pulsarctl.settings.client_security import FILES
from pulsarctl.settings.contexts import ADDRESS_FIELDS, AUTH_FIELDS, ContextFile, changed, default_path
from pulsarctl.settings.shown import masked, rows
from pulsarctl.shell.arguments import Yes
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun

app = Noun("context", "Manage contexts: named sets of addresses and credentials.")

Name = Annotated[str, typer.Argument(metavar="CONTEXT", help="Name of the context.")]
NewName = Annotated[str, typer.Argument(metavar="NEW-NAME", help="New name of the context.")]
OptionalName = Annotated[
    str | None, typer.Argument(metavar="CONTEXT", help="Name of the context. Default: the current one.")
]
STORED = (*ADDRESS_FIELDS.values(), *AUTH_FIELDS.values())


@app.verb("list", "ls")
def list_contexts(call: Call) -> None:
    """List the contexts and mark the current one.

    Example: pulsarctl context list
    """
    file = _file()
    listed = [
        (name, "*" if name == file.current else "", entry.get("web_url"), entry.get("service_url"))
        for name in file.names
        for entry in [file.fields(name)]
    ]
    call.show(file.names, Table(("CONTEXT", "CURRENT", "ADMIN URL", "SERVICE URL"), listed))
    if not listed:
        call.notice(f"no contexts in {file.path}")


@app.verb("get", hidden=True)
def get(call: Call, name: OptionalName = None) -> None:
    """List the contexts, or show one (the Go tool's spelling)."""
    if name:
        _show(call, name)
    else:
        list_contexts(call)


@app.verb("current")
def current(call: Call) -> None:
    """Print the name of the current context.

    Fails with exit code 3 if no context is selected.

    Example: pulsarctl context current
    """
    call.show(_current(_file()))


@app.verb("show", "view")
def show(
    call: Call,
    name: OptionalName = None,
    resolved: Annotated[
        bool, typer.Option("--resolved", help="Show the settings in effect, and the source of each.")
    ] = False,
) -> None:
    """Show a context with its secrets masked.

    Example: pulsarctl context show --resolved
    """
    if resolved:
        _show_resolved(call)
    else:
        _show(call, name or _current(_file()))


@app.verb("use", "select", "switch")
def use(call: Call, name: Name) -> None:
    """Select a context as the current one.

    Example: pulsarctl context use prod
    """
    with _changed() as file:
        file.require(name)
        file.current = name


@app.verb("create", "set", "add")
def create(call: Call, name: Name) -> None:
    """Create or change a context from the connection options, and select it.

    Example: pulsarctl context create prod --admin-url https://pulsar.example.com:8443 --token-file prod.token
    """
    fields = {field: _kept(field, value) for field, value in (call.obj or {}).items() if field in STORED}
    if not fields and name not in _file().names:
        raise UsageProblem(
            "no address or credentials given", hint="pulsarctl context create NAME --admin-url URL [--url URL]"
        )
    if web_url := fields.get("web_url"):
        admin_urls(web_url)
    if service_url := fields.get("service_url"):
        service_addresses(service_url)
    with _changed() as file:
        file.put(name, fields)
        file.current = name
    call.tell(f"'{name}' is now the current context")


@app.verb("copy")
def copy(call: Call, old: Name, new: NewName) -> None:
    """Copy a context.

    Example: pulsarctl context copy prod staging
    """
    with _changed() as file:
        file.put(new, file.fields(old))


@app.verb("rename")
def rename(call: Call, old: Name, new: NewName) -> None:
    """Rename a context.

    Example: pulsarctl context rename prod production
    """
    with _changed() as file:
        file.rename(old, new)


@app.verb("delete", "rm", "del", loses_data=True)
def delete(call: Call, name: Name, yes: Yes = False) -> None:
    """Delete a context.

    Example: pulsarctl context delete staging
    """
    _file().require(name)
    call.confirm(f"Delete context {name}?", yes=yes)
    with _changed() as file:
        file.delete(name)


def _kept(field: str, value: Any) -> Any:
    """A path is stored as an absolute one, so that it means the same file in every directory."""
    if field not in FILES or ":" in value:  # a URL of a key
        return value
    return str(Path(value).expanduser().absolute())


def _file() -> ContextFile:
    return ContextFile(default_path(os.environ))


def _changed() -> AbstractContextManager[ContextFile]:
    return changed(default_path(os.environ))


def _current(file: ContextFile) -> str:
    if not file.current:
        raise NotFound("no context is selected", hint="pulsarctl context use NAME")
    return file.current


def _show(call: Call, name: str) -> None:
    call.show({field: masked(field, value) for field, value in _file().fields(name).items()}, as_map=True)


def _show_resolved(call: Call) -> None:
    settings = rows(call.settings)
    call.show(settings, Table(("SETTING", "VALUE", "SOURCE"), [tuple(row.values()) for row in settings]))
