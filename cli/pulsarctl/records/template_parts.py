"""Parser of record templates, into literal bytes and placeholders.

template    = { literal | "%" escape [ "{" modifier "}" ] | "%%" | "%{" | "%}" | backslash }
backslash   = "\\t" | "\\n" | "\\r" | "\\\\" | "\\x" two hex digits
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from pulsarctl.errors import UsageProblem

_BACKSLASHES = {"t": b"\t", "n": b"\n", "r": b"\r", "\\": b"\\"}


@dataclass(frozen=True, slots=True)
class Placeholder:
    """`%escape{modifier}`. `position` counts characters from 1, for errors."""

    escape: str
    modifier: str | None
    position: int

    def problem(self, mistake: str) -> UsageProblem:
        hint = "see the escapes in 'pulsarctl read --help'"
        return UsageProblem(f"template, character {self.position}: {mistake}", hint=hint)


def parse(text: str) -> list[bytes | Placeholder]:
    """The parts, with adjacent literals joined. Raises `UsageProblem`."""
    parts: list[bytes | Placeholder] = []
    for part in _scan(text):
        if isinstance(part, bytes) and parts and isinstance(parts[-1], bytes):
            parts[-1] += part
        else:
            parts.append(part)
    return parts


def _scan(text: str) -> Iterator[bytes | Placeholder]:
    at = 0
    while at < len(text):
        character = text[at]
        if character == "\\":
            literal, at = _backslash(text, at)
            yield literal
        elif character == "%":
            part, at = _percent(text, at)
            yield part
        else:
            yield os.fsencode(character)
            at += 1


def _backslash(text: str, at: int) -> tuple[bytes, int]:
    following = text[at + 1 : at + 2]
    if following in _BACKSLASHES:
        return _BACKSLASHES[following], at + 2
    digits = text[at + 2 : at + 4]
    if following == "x" and len(digits) == 2 and all(digit in "0123456789abcdefABCDEF" for digit in digits):
        return bytes.fromhex(digits), at + 4
    raise Placeholder("", None, at + 1).problem(f"'\\{following}' is not one of \\t \\n \\r \\\\ \\xNN")


def _percent(text: str, at: int) -> tuple[bytes | Placeholder, int]:
    escape = text[at + 1 : at + 2]
    if not escape:
        raise Placeholder("", None, at + 1).problem("a single % at the end; use %% for a percent sign")
    if escape in "%{}":
        return escape.encode(), at + 2
    if text[at + 2 : at + 3] != "{":
        return Placeholder(escape, None, at + 1), at + 2
    end = _closing(text, at + 2)
    return Placeholder(escape, text[at + 3 : end], at + 1), end + 1


def _closing(text: str, opening: int) -> int:
    depth = 0
    for index in range(opening, len(text)):
        if text[index] == "{":
            depth += 1
        elif text[index] == "}":
            depth -= 1
            if depth == 0:
                return index
    raise Placeholder("", None, opening + 1).problem("this { is not closed")
