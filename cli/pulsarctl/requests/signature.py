"""The signature of a verb that is made of a row, which Typer reads."""

import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from pulsarctl.requests.request import REQUIRED, Field
from pulsarctl.shell.call import Call
from pulsarctl.values.choice import choice

EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD


def with_signature(body: Callable[..., None], own: Iterable[inspect.Parameter]) -> Callable[..., None]:
    """The function with these parameters after the call."""
    every = [inspect.Parameter("call", EITHER, annotation=Call), *own]
    body.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]  # Typer reads it
    body.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
    return body


def parameters(fields: Iterable[Field]) -> list[inspect.Parameter]:
    """Required ones first."""
    return [_parameter(field) for field in sorted(fields, key=lambda field: field.default is not REQUIRED)]


def _parameter(field: Field) -> inspect.Parameter:
    metavar = field.metavar or None
    info: Any
    if field.spellings:
        shown = None if field.kind is bool else metavar
        words = choice(*field.words) if field.words else None
        info = typer.Option(*field.spellings, metavar=shown, autocompletion=words, help=field.help, hidden=field.hidden)
    else:
        info = typer.Argument(metavar=metavar, help=field.help)
    kind = field.kind
    if field.default is None:
        kind = kind | None
    default = inspect.Parameter.empty if field.default is REQUIRED else field.default
    return inspect.Parameter(field.name, EITHER, annotation=Annotated[kind, info], default=default)
