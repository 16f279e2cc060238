"""Values as text in the format of `pulsar-admin`, so that scripts for it work unchanged. Pure.

A string stays as it is, and a list has one item per line, whose own line breaks are escaped. An object is JSON in the
layout of Jackson's default pretty printer: `"key" : value`, objects indented by two spaces, arrays on one line with a
space inside the brackets, and `{ }` and `[ ]` if empty. Checked against the output of pulsar-admin 4.0.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

from pulsarctl.output.terminal_text import one_line


def text(value: Any) -> str:
    """The value as pulsar-admin prints it. An absent value (HTTP 204) is `null`."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(one_line(item) if isinstance(item, str) else text(item) for item in value)
    return document(value)


def lines_of_map(value: Mapping[str, Any]) -> str:
    """A map that pulsar-admin prints as lines: key, four spaces, value."""
    return "\n".join(one_line(f"{key}    {_plain(item)}") for key, item in value.items())


def document(value: Any, indent: int = 0) -> str:
    """JSON in Jackson's layout."""
    if isinstance(value, dict):
        return _object(value, indent)
    if isinstance(value, list):
        return "[ " + ", ".join(document(item, indent) for item in value) + " ]" if value else "[ ]"
    if isinstance(value, float):
        return _double(value)
    return json.dumps(value, ensure_ascii=False)


def _double(value: float) -> str:
    """Like Java's `Double.toString`: the fewest digits, with an exponent outside 0.001 to 10,000,000."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    from decimal import Decimal

    mantissa, _, exponent = f"{Decimal(repr(value)).normalize():E}".partition("E")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


def _object(value: dict[str, Any], indent: int) -> str:
    if not value:
        return "{ }"
    inner = " " * (indent + 2)
    members = (f"{inner}{json.dumps(k, ensure_ascii=False)} : {document(v, indent + 2)}" for k, v in value.items())
    return "{\n" + ",\n".join(members) + "\n" + " " * indent + "}"


def _plain(value: Any) -> str:
    """A value in a line of a map, like Java's `toString`: lists as `[a, b]`."""
    if isinstance(value, list):
        return "[" + ", ".join(_plain(item) for item in value) + "]"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
