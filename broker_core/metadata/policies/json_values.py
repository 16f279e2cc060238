"""Single values of a JSON document, read as Pulsar's JSON reader reads them. Pure.

Each reader takes the value and the name to report, and raises `InvalidRequest`. What it returns is safe to keep, store,
and show: numbers fit the type that Pulsar uses for them, and strings are Unicode.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from reprlib import Repr
from typing import Any

from broker_core.errors import BrokerError, InvalidRequest

Reader = Callable[[Any, str], Any]
OnBad = Callable[[str, BrokerError], None]  # the name of a value, and what is wrong with it

INT_MAX = (1 << 31) - 1
LONG_MAX = (1 << 63) - 1
MOST_KEPT_DEPTH = 8  # levels of objects that are stored but not interpreted

_DIGITS = re.compile(r"\s*[+-]?[0-9]{1,20}\s*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


def refuse(_name: str, error: BrokerError) -> None:
    """Rejects a bad value: the handler for values from a request."""
    try:
        raise error
    finally:
        del error  # the error refers to this frame: without the cycle, both are freed at once


def shown(value: Any) -> str:
    """A value for an error message, always short."""
    return _SURROGATE.sub("\ufffd", _SHORT.repr(value))


def whole_number(value: Any, name: str) -> int:
    """A Java long. Fractions are truncated; a string of digits is parsed."""
    return _whole(value, name, LONG_MAX)


def int32(value: Any, name: str) -> int:
    """A Java int, read like `whole_number`."""
    return _whole(value, name, INT_MAX)


def _whole(value: Any, name: str, most: int) -> int:
    try:
        if isinstance(value, bool) or (isinstance(value, str) and not _DIGITS.fullmatch(value)):
            raise ValueError
        count = int(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidRequest(f"{name} must be a whole number, not {shown(value)}") from None
    if not -most - 1 <= count <= most:
        raise InvalidRequest(f"{name} must be between {-most - 1} and {most}, not {shown(value)}")
    return count


def number(value: Any, name: str) -> float:
    """Read a finite Java double."""
    try:
        if isinstance(value, bool):
            raise ValueError
        parsed = float(value)
        if not math.isfinite(parsed):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise InvalidRequest(f"{name} must be a number, not {shown(value)}") from None
    return parsed


def truth(value: Any, name: str) -> bool:
    """A boolean; some tools send it as a string."""
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise InvalidRequest(f"{name} must be true or false, not {shown(value)}")
    return value


def string(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidRequest(f"{name} must be a string, not {shown(value)}")
    if _SURROGATE.search(value):
        raise InvalidRequest(f"{name} must be Unicode text: {shown(value)} has half of a surrogate pair")
    return value


def scalar_text(value: Any, name: str) -> str:
    """A string; numbers and booleans keep their JSON spelling."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(number(value, name)) if isinstance(value, float) else str(whole_number(value, name))
    return string(value, name)


def mapping(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidRequest(f"{name} must be a JSON object")
    return value


def mapping_of(read: Reader) -> Reader:
    """Returns a reader of an object whose members all use the same reader."""

    def read_all(value: Any, name: str) -> dict[str, Any]:
        values = {}
        for key, item in mapping(value, name).items():
            try:
                values[string(key, name)] = read(item, name)
            except BrokerError:
                read(item, f"{name}.{shown(key)}")  # only the error needs the whole name, which takes most of the time
                raise
        return values

    return read_all


properties = mapping_of(scalar_text)
"""Strings by name."""


def names(value: Any, name: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise InvalidRequest(f"{name} must be a list of names")
    return tuple(string(item, name) for item in value)


def name_or_none(*known: str) -> Reader:
    """Returns a reader of an enum. Like Pulsar's, it reads an unknown name as None."""

    def read(value: Any, name: str) -> str | None:
        return string(value, name) if string(value, name) in known else None

    return read


def plain_object(value: Any, name: str) -> Mapping[str, Any]:
    """An object that is stored as it was sent."""
    check_plain(mapping(value, name), name, MOST_KEPT_DEPTH)
    return mapping(value, name)


def check_plain(value: Any, name: str, most_depth: int) -> None:
    """Raises `InvalidRequest` for values that are not valid or not safe as JSON: depth, NaN, lone surrogates."""
    level, depth = [value], 0
    while level:
        if depth > most_depth:
            raise InvalidRequest(f"{name} is nested more than {most_depth} deep")
        level, depth = [inner for container in level for inner in _members(container, name)], depth + 1


def _members(value: Any, name: str) -> Iterator[Any]:
    if isinstance(value, str):
        string(value, name)
    elif isinstance(value, float):
        number(value, name)
    elif isinstance(value, Mapping):
        yield from value
        yield from value.values()
    elif isinstance(value, list | tuple):
        yield from value


class Fields:
    """The members of a JSON object, read one by one. null and "" mean absent, because tools send them that way.

    `on_bad` gets each value that cannot be read: `refuse` for requests, a function that returns for stored documents.
    """

    def __init__(self, document: Any, on_bad: OnBad = refuse) -> None:
        self._document: Mapping[str, Any] = document if isinstance(document, Mapping) else {}
        self._on_bad = on_bad

    def read(self, name: str, read: Reader, default: Any = None) -> Any:
        value = self._document.get(name)
        if value is None or value == "":
            return default
        try:
            return read(value, name)
        except BrokerError as error:
            self._on_bad(name, error)
            return default
