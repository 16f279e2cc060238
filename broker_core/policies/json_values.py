"""Single values of a JSON document as Pulsar's own JSON reader takes them. Pure.

Each reader gets the value and the name to complain about, and raises `InvalidRequest`.
"""

from collections.abc import Callable
from typing import Any

from broker_core.errors import InvalidRequest

Reader = Callable[[Any, str], Any]


def whole_number(value: Any, name: str) -> int:
    """Fractions are cut off, digits in a string are read."""
    try:
        if isinstance(value, bool):
            raise ValueError
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidRequest(f"{name} must be a whole number, not {value!r}") from None


def number(value: Any, name: str) -> float:
    try:
        if isinstance(value, bool):
            raise ValueError
        return float(value)
    except (TypeError, ValueError):
        raise InvalidRequest(f"{name} must be a number, not {value!r}") from None


def truth(value: Any, name: str) -> bool:
    """A boolean; some tools send it as a string."""
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise InvalidRequest(f"{name} must be true or false, not {value!r}")
    return value


def string(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidRequest(f"{name} must be a string, not {value!r}")
    return value


def name_or_none(*names: str) -> Reader:
    """A reader of an enum; like Pulsar's it takes a name that it does not know for none at all."""

    def read(value: Any, _name: str) -> str | None:
        return str(value) if value in names else None

    return read
