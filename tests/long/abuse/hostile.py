"""Hostile values by name, for numbers, texts, and whole JSON documents."""

import json
from collections.abc import Iterator
from typing import Any

DEPTH = 2_000
WIDTH = 20_000


class Raw:
    """JSON text that no Python value represents, inserted into a document unchanged."""

    def __init__(self, text: str) -> None:
        self.text = text


NUMBERS: dict[str, Any] = {
    "zero": 0,
    "minus-one": -1,
    "max-32": 2**31 - 1,
    "over-32": 2**31,
    "max-63": 2**63 - 1,
    "max-64": 2**64 - 1,
    "min-63": -(2**63),
    "400-digits": Raw("9" * 400),
    "5000-digits": Raw("9" * 5000),
    "fraction": 0.5,
    "1e308": Raw("1e308"),
    "1e400": Raw("1e400"),
    "nan": Raw("NaN"),
    "infinity": Raw("-Infinity"),
    "digits-as-text": "12",
}
TEXTS: dict[str, Any] = {
    "empty": "",
    "blank": " ",
    "long": "x" * 100_000,
    "nul": "a\0b",
    "line-ends": "a\r\nX-Injected: 1\r\n\r\nb",
    "bidi": "a\u202eb\u2066",
    "escape": "\x1b[31m",
    "lone-surrogate": Raw('"\\ud800"'),
    "dots": "../../..",
    "format": "%s%n{0}{x}",
}
SHAPES: dict[str, Any] = {
    "null": None,
    "true": True,
    "list": [],
    "list-of-null": [None],
    "list-of-lists": [[]],
    "object": {},
    "object-of-object": {"a": {"a": {}}},
    "wide-list": Raw(json.dumps(list(range(WIDTH)))),
    "wide-object": Raw(json.dumps({f"k{n}": n for n in range(WIDTH)})),
    "deep-list": Raw("[" * DEPTH + "]" * DEPTH),
    "deep-object": Raw('{"a":' * DEPTH + "1" + "}" * DEPTH),
}
VALUES: dict[str, Any] = {**NUMBERS, **TEXTS, **SHAPES}

# Whole bodies that no route expects, most of them not JSON.
BODIES: dict[str, bytes] = {
    "empty": b"",
    "not-json": b"{bad",
    "truncated": b'{"a": [1, 2',
    "not-utf8": b'"\xff\xfe"',
    "utf16": '{"a":1}'.encode("utf-16"),
    "byte-order-mark": b"\xef\xbb\xbf{}",
    "nul": b"\0" * 100,
    "two-documents": b"{} {}",
    "open-lists": b"[" * 100_000,
    "open-objects": b'{"a":' * 100_000,
    "many-lists": b"[" + b"[]," * 300_000 + b"[]]",
    "many-keys": b"{" + b",".join(b'"%d":0' % n for n in range(80_000)) + b"}",
    "same-key": b"{" + b",".join([b'"a":0'] * 80_000) + b"}",
    "long-text": b'"' + b"x" * 1_000_000 + b'"',
    "long-number": b"9" * 1_000_000,
    "two-megabytes": b'"' + b"x" * (2 << 20) + b'"',
}

# Parts of a path, as in the request line.
PARTS: dict[str, str] = {
    "space": "%20",
    "nul": "a%00b",
    "line-ends": "a%0d%0aX-Injected:%201",
    "not-utf8": "%ff%fe",
    "slash": "a%2fb",
    "twice": "a%252fb",
    "dots": "%2e%2e",
    "broken-percent": "%zz%",
    "long": "x" * 4_000,
    "bidi": "%e2%80%ae",
    "partition": "t-partition-99999999999999999999",
    "minus-one": "-1",
    "max-64": str(2**64),
    "400-digits": "9" * 400,
    "5000-digits": "9" * 5000,
    "other-digits": "%d9%a1%c2%b2",
    "word": "surely-not-there",
}


def document(value: Any) -> bytes:
    """Encodes `value` as JSON, with every `Raw` in it unchanged."""
    return _text(value).encode("utf-8", "surrogatepass")


def _text(value: Any) -> str:
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{_text(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return json.dumps(value)


def places(example: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values in the example, including the whole."""
    yield path
    if isinstance(example, dict):
        for key, value in example.items():
            yield from places(value, (*path, key))
    elif isinstance(example, list):
        for index, value in enumerate(example):
            yield from places(value, (*path, index))


def replaced(example: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Returns the example with another value at that path."""
    if not path:
        return value
    first, rest = path[0], path[1:]
    if isinstance(example, list):
        return [replaced(one, rest, value) if index == first else one for index, one in enumerate(example)]
    if not isinstance(example, dict):  # an earlier replacement removed it
        return example
    return {key: replaced(one, rest, value) if key == first else one for key, one in example.items()}
