"""A command line that is still being typed: its words, and the beginning of the word at the cursor.

Quotes and backslashes work as in `session.split`, and a quote may still be open.
"""

import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from pulsarctl.shell.completion import Candidate

_WORD = re.compile(r"""(?:\\.?|'[^']*'?|"(?:\\.|[^"\\])*"?|[^ \t\r\n'"\\])+""", re.DOTALL)
_ESCAPED = re.compile(r"\\.?", re.DOTALL)
_PIECE = re.compile(r"\\.|.", re.DOTALL)
_ASSIGNMENT = re.compile(r"\w+=")
_NEEDS_NO_QUOTES = re.compile(r"[\w@%+=:,./-]*")


class TypedLine(NamedTuple):
    """`current` is what `raw` means without its quotes and backslashes; `quote` is the quote that is still open."""

    words: list[str]
    current: str = ""
    raw: str = ""
    quote: str = ""


def typed_line(text: str) -> TypedLine:
    """`text` is the line up to the cursor."""
    words = list(_WORD.finditer(text))
    start = words[-1].start() if words and words[-1].end() == len(text) else len(text)
    raw = text[start:]
    quote, current = _meaning(raw)
    return TypedLine(shlex.split(text[:start]), current, raw, quote)


def without_program(words: list[str]) -> list[str]:
    """The words after the name of the program, which variables may precede: `A=1 pulsarctl ...`."""
    start = next((at for at, word in enumerate(words) if not _ASSIGNMENT.match(word)), len(words))
    return words[start + 1 :]


def for_bash(line: TypedLine, candidates: Sequence[Candidate], breaks: str) -> list[Candidate]:
    """The candidates as bash inserts them: it replaces the word from its last break, such as a colon, and quotes them.

    In open quotes it inserts text as it is, so that only words without special characters may be offered.
    `breaks`: COMP_WORDBREAKS.
    """
    plain = _ESCAPED.sub("", line.raw)
    if line.quote and line.raw[0] == line.quote and plain.count(line.quote) == 1:
        return _kept_open([candidate for candidate in candidates if _NEEDS_NO_QUOTES.fullmatch(candidate.word)])
    if "'" in plain or '"' in plain:
        return []
    ends = [piece.end() for piece in _PIECE.finditer(line.raw) if piece[0] in breaks]
    kept = _meaning(line.raw[: ends[-1]])[1] if ends else ""
    return [candidate._replace(word=candidate.word.removeprefix(kept)) for candidate in candidates]


def _kept_open(candidates: list[Candidate]) -> list[Candidate]:
    """bash closes the quote after a word that is the only one. After a slash the name goes on, so it gets a second."""
    if len(candidates) != 1 or not candidates[0].word.endswith("/"):
        return candidates
    return [*candidates, candidates[0]._replace(word=f"{candidates[0].word}...")]


def _meaning(raw: str) -> tuple[str, str]:
    """The open quote of a word, and the word. One more character makes the end of any word clear."""
    for quote in ("", "'", '"'):
        try:
            return quote, shlex.split(f"{raw}x{quote}")[0][:-1]
        except ValueError:
            continue
    raise AssertionError(raw)
