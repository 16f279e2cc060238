"""Conversion of command-line words to typed values, for the types that our commands use.

Typer would use pydantic, whose import takes 70 ms, half the time of a whole command. In addition, values of an `Enum`
are accepted in any case, as in the newer Pulsar tools.
"""

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin

import typer
from typer.core import TyperArgument, TyperOption

Parameter = TyperArgument | TyperOption


class Coercion:
    """Typer's hook for the value of a parameter. `read` converts one word or raises `ValueError`."""

    def __init__(self, read: Callable[[Any], Any], many: bool) -> None:
        self._read = read
        self._many = many

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            if self._many:
                return tuple(self._read(item) for item in value or ())
            return None if value is None else self._read(value)
        except ValueError as error:
            raise typer.BadParameter(str(error), ctx=ctx, param=param) from error


def without_pydantic(parameters: list[Any]) -> list[Any]:
    """The same parameters, with our own coercion for the types that it supports."""
    for parameter in parameters:
        if isinstance(parameter, Parameter) and parameter._runtime_param is None:
            annotation: Any = parameter.type_descriptor.annotation
            many = get_origin(annotation) is list
            read = _reader(get_args(annotation)[0] if many else annotation, parameter.min, parameter.max)
            if read is not None:
                # where Typer stores its coercion; tests/cli/test_imports.py fails if that changes
                parameter._runtime_param = Coercion(read, many)  # type: ignore[assignment]  # ours has the same method
    return parameters


def _reader(kind: Any, least: float | None, most: float | None) -> Callable[[Any], Any] | None:
    if kind is bool:
        return bool
    if kind in (str, Path):
        return kind  # type: ignore[no-any-return]  # str or Path, both callable
    if kind in (int, float):
        return lambda word: _within(least, most, _number(kind, word))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return lambda word: _member(kind, word)
    return None


def _number(kind: type[int] | type[float], word: Any) -> int | float:
    try:
        return kind(word)
    except ValueError:
        raise ValueError(f"'{word}' is not {'an integer' if kind is int else 'a number'}") from None


def _within(least: float | None, most: float | None, number: int | float) -> int | float:
    if least is not None and not number >= least:  # NaN is neither greater nor less
        raise ValueError(f"{number} is less than {least}" if number < least else f"{number} is not a number")
    if most is not None and number > most:
        raise ValueError(f"{number} is more than {most}")
    return number


def _member(kind: type[Enum], word: Any) -> Enum:
    if isinstance(word, kind):
        return word
    for member in kind:
        if str(member.value).lower() == str(word).lower():
            return member
    raise ValueError(f"'{word}' is not one of " + ", ".join(str(member.value) for member in kind))
