"""Makes a verb of each row of a table of requests."""

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from pulsarctl.errors import CliError
from pulsarctl.shell.arguments import Yes
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.verbs.requests.request import REQUIRED, Field, Given, Place, Request, Shown, target

EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD


def install_requests(noun: Noun, rows: Iterable[Request]) -> None:
    """Adds the verb of each row."""
    for row in rows:
        register = noun.verb(
            row.name,
            *row.also,
            heading=None if row.hidden else row.heading,
            hidden=row.hidden,
            loses_data=bool(row.question),
            help=f"{row.summary}\n\nExample: pulsarctl {noun.noun} {row.name} {row.example}".rstrip(),
        )
        register(_verb(row))


def _verb(row: Request) -> Callable[..., None]:
    def run(call: Call, **given: Any) -> None:
        if row.check is not None:
            row.check(given)
        if row.question:
            call.confirm(row.question.format(**given), yes=given["yes"])
        _show(call, row, _send(call, row, given))
        if row.told:
            call.tell(row.told.format(**given))

    return _with_signature(run, row)


def _send(call: Call, row: Request, given: Given) -> Any:
    query = {field.key or field.name: field.value(given) for field in row.fields if field.place is Place.QUERY}
    if row.into:
        _save(Path(given[row.into]), call.admin.http.get_bytes(target(row, given), **query)[0])
        return None
    if row.payload is not None:
        return call.admin.http.send(row.method, target(row, given), *row.payload(given).encoded())
    return call.admin.http.request(row.method, target(row, given), body=_body(row, given), query=query)


def _save(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise CliError(f"cannot write {path}: {error.strerror}") from error


def _body(row: Request, given: Given) -> Any:
    """Members without a value are left out, so that the broker's defaults apply."""
    if row.body is not None:
        return row.body(given)
    whole = [field for field in row.fields if field.place is Place.WHOLE]
    if whole:
        return whole[0].value(given)
    members = {field.key or field.name: field.value(given) for field in row.fields if field.place is Place.BODY}
    if not members and not any(field.place is Place.BODY for field in row.fields):
        return None
    return {key: value for key, value in members.items() if value is not None}


def _show(call: Call, row: Request, found: Any) -> None:
    match row.shown:
        case Shown.VALUE:
            call.show(found)
        case Shown.MAP:
            call.show(found or {}, as_map=True)
        case Shown.NAMES:
            call.show_names(row.column, sorted(found or []))


def _with_signature(body: Callable[..., None], row: Request) -> Callable[..., None]:
    """The function with the signature that Typer reads."""
    parameters = [inspect.Parameter("call", EITHER, annotation=Call), *map(_parameter, _required_first(row.fields))]
    if row.question:
        parameters.append(inspect.Parameter("yes", EITHER, annotation=Yes, default=False))
    body.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # Typer reads it
    body.__annotations__ = {one.name: one.annotation for one in parameters}
    return body


def _required_first(fields: tuple[Field, ...]) -> list[Field]:
    return sorted(fields, key=lambda field: field.default is not REQUIRED)


def _parameter(field: Field) -> inspect.Parameter:
    metavar = field.metavar or None
    info: Any
    if field.spellings:
        shown = None if field.kind is bool else metavar
        info = typer.Option(*field.spellings, metavar=shown, help=field.help, hidden=field.hidden)
    else:
        info = typer.Argument(metavar=metavar, help=field.help)
    kind = field.kind
    if field.default is None:
        kind = kind | None
    default = inspect.Parameter.empty if field.default is REQUIRED else field.default
    return inspect.Parameter(field.name, EITHER, annotation=Annotated[kind, info], default=default)
