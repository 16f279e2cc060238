"""Sends the request of a row, and prints its answer."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pulsarctl.errors import CliError
from pulsarctl.output import render
from pulsarctl.output.render import Output
from pulsarctl.requests.request import In, Request, Shown, Values, target
from pulsarctl.shell.call import Call

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient


def send(admin: "AdminClient", row: Request, values: Values) -> Any:
    query = {field.key or field.name: field.value(values) for field in row.fields if field.place is In.QUERY}
    if row.into:
        _save(Path(values[row.into]), admin.http.get_bytes(target(row, values), **query)[0])
        return None
    if row.payload is not None:
        return admin.http.send(row.method, target(row, values), *row.payload(values).encoded())
    return admin.http.request(row.method, target(row, values), body=_body(row, values), query=query)


def _save(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise CliError(f"cannot write {path}: {error.strerror}") from error


def _body(row: Request, values: Values) -> Any:
    """Members without a value are left out, so that the broker's defaults apply."""
    if row.body is not None:
        return row.body(values)
    whole = [field for field in row.fields if field.place is In.WHOLE]
    if whole:
        return whole[0].value(values)
    members = {field.key or field.name: field.value(values) for field in row.fields if field.place is In.BODY}
    if not members and not any(field.place is In.BODY for field in row.fields):
        return None
    return {key: value for key, value in members.items() if value is not None}


def show_value(call: Call, row: Request, value: Any) -> None:
    if row.arranged is not None:
        value = row.arranged(value)
    if row.in_table is not None and render.resolve(call.output) is Output.TABLE:
        value = row.in_table(value)
    match row.shown:
        case Shown.VALUE:
            call.show(value)
        case Shown.MAP:
            call.show(value or {}, as_map=True)
        case Shown.NAMES:
            call.show_names(row.column, sorted(value or []))
