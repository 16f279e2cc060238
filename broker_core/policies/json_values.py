"""Single values of a JSON document as Pulsar's own JSON reader takes them. Pure.

Each reader gets the value and the name to complain about, and raises `InvalidRequest`. What it returns is safe to
keep, to store and to show: numbers fit the type that Pulsar has for them, and texts are Unicode.
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
MOST_KEPT_DEPTH = 8  # of objects that are only kept

_DIGITS = re.compile(r"\s*[+-]?[0-9]{1,20}\s*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


def refuse(_name: str, error: BrokerError) -> None:
    """What to do about a bad value that was sent."""
    raise error


def shown(value: Any) -> str:
    """A value in an error message: short, whatever it is."""
    return _SURROGATE.sub("\ufffd", _SHORT.repr(value))


def whole_number(value: Any, name: str) -> int:
    """A Java long. Fractions are cut off, digits in a string are read."""
    return _whole(value, name, LONG_MAX)


def int32(value: Any, name: str) -> int:
    """A Java int, read like `whole_number`."""
    return _whole(value, name, INT_MAX)


def _whole(value: Any, name: str, most: int) -> int:
    try:
        if isinstance(value, bool) or (isinstance(value, str) and not _DIGITS.fullmatch(value)):
            raise ValueError
        found = int(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidRequest(f"{name} must be a whole number, not {shown(value)}") from None
    if not -most - 1 <= found <= most:
        raise InvalidRequest(f"{name} must be between {-most - 1} and {most}, not {shown(value)}")
    return found


def number(value: Any, name: str) -> float:
    """A finite Java double."""
    try:
        if isinstance(value, bool):
            raise ValueError
        found = float(value)
        if not math.isfinite(found):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise InvalidRequest(f"{name} must be a number, not {shown(value)}") from None
    return found


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
    """A string; numbers and booleans are taken as they are written in JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"{number(value, name):.17g}" if isinstance(value, float) else str(whole_number(value, name))
    return string(value, name)


def mapping(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidRequest(f"{name} must be a JSON object")
    return value


def mapping_of(read: Reader) -> Reader:
    """A reader of an object whose members are all read alike."""

    def read_all(value: Any, name: str) -> dict[str, Any]:
        found = {}
        for key, one in mapping(value, name).items():
            try:
                found[string(key, name)] = read(one, name)
            except BrokerError:
                read(one, f"{name}.{shown(key)}")  # the whole name only for the error: to spell it is what costs most
                raise
        return found

    return read_all


properties = mapping_of(scalar_text)
"""Texts by name."""


def names(value: Any, name: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise InvalidRequest(f"{name} must be a list of names")
    return tuple(string(one, name) for one in value)


def name_or_none(*known: str) -> Reader:
    """A reader of an enum; like Pulsar's it takes a name that it does not know for none at all."""

    def read(value: Any, name: str) -> str | None:
        return string(value, name) if string(value, name) in known else None

    return read


def plain_object(value: Any, name: str) -> Mapping[str, Any]:
    """An object that is kept as it came."""
    check_plain(mapping(value, name), name, MOST_KEPT_DEPTH)
    return mapping(value, name)


def check_plain(value: Any, name: str, most_depth: int) -> None:
    """Raises `InvalidRequest` for what JSON cannot say, or not without harm: depth, NaN, halves of a character."""
    level, depth = [value], 0
    while level:
        if depth > most_depth:
            raise InvalidRequest(f"{name} is nested more than {most_depth} deep")
        level, depth = [inner for one in level for inner in _members(one, name)], depth + 1


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
    """The members of a JSON object, read one by one; null and "" mean absent, as tools send them.

    `on_bad` gets what cannot be read: `refuse` for what was sent, or something that goes on, for what is stored.
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
