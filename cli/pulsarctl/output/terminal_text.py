"""Text that is safe to show on a terminal: control and bidirectional characters become `\\uXXXX`. Pure.

Names and payloads come from other people. On a terminal, an escape sequence in them moves the cursor, hides text, or
changes the title, and a bidirectional character reorders a line. JSON stays JSON with `\\uXXXX` in its strings.
"""

import re

# C0 without tab and newline, DEL, and C1 (Unicode category Cc); marks, embeddings, overrides, and isolates (UAX #9)
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def escaped(text: str) -> str:
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def one_line(text: str) -> str:
    """The text with `\\n` for each line break, so that a name with one does not look like two names."""
    return text.replace("\n", "\\n")


def escaped_bytes(data: bytes) -> bytes:
    """The same for UTF-8. A byte that is not UTF-8 becomes `\\xNN`."""
    return escaped(data.decode("utf-8", "backslashreplace")).encode()


def escaped_cell(text: str) -> str:
    """The same for a cell of a table, in which newlines and tabs are escaped, too."""
    return one_line(escaped(text)).replace("\t", "\\t")
