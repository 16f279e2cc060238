"""JSON that comes from outside: files, options, answers, and messages.

Python's parser and most code that walks through a value are recursive, so a few kilobytes of brackets would end a
command with a traceback. Every other reason why text is not JSON is a `ValueError`, and so is this one.
"""

import json
import math
from collections.abc import Callable
from typing import Any

DEPTH_MAX = 200  # of objects and arrays; code that walks through a value may use several frames for each


def parse_json(text: str | bytes) -> Any:
    """Raises `ValueError` for text that is not JSON, or that is nested too deeply."""
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise _too_deep() from error
    if _brackets(text) > DEPTH_MAX and _is_too_deep(value):
        raise _too_deep()
    return value


def _brackets(text: str | bytes) -> int:
    """At least the depth. It is cheap, and mostly small enough."""
    if isinstance(text, str):
        return text.count("{") + text.count("[")
    return text.count(b"{") + text.count(b"[")


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEPTH_MAX + 1):
        level = [part for parent in level for part in _parts(parent)]
    return bool(level)


def _parts(value: Any) -> Any:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _too_deep() -> ValueError:
    return ValueError(f"it is nested more than {DEPTH_MAX} levels deep")


def without_nan(encode: Callable[[Any], str], value: Any) -> str:
    """JSON that any tool reads: it has no number for NaN and the infinities, which become text, as in JSON schemas.

    `encode` raises `ValueError` for them: looking for them first would cost time for each value.
    """
    try:
        return encode(value)
    except ValueError:
        return encode(_finite(value))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return _WORDS[str(value)] if isinstance(value, float) and not math.isfinite(value) else value


_WORDS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
