"""One time for a query: `now()`, `current_timestamp`, and `current_date` become literals in its text.

So the plan and the engine agree about them. Other functions of the current time are for the engine, and bound nothing.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import sqlglot
from sqlglot.tokens import TokenType

from pulsarctl.sql.dialects import DIALECTS, ZONED
from pulsarctl.sql.engine import SqlEngine

Edit = tuple[int, int, str]
"""From, to, and what replaces it."""


def with_time(text: str, now: datetime, engine: SqlEngine) -> str:
    """`now` is in UTC. Raises what sqlglot raises for text that has no words."""
    time, date = f"{ZONED[engine]} '{now.isoformat(' ')}'", f"DATE '{now.date().isoformat()}'"
    return edited(text, list(_edits(sqlglot.tokenize(text, dialect=DIALECTS[engine]), time, date)))


def edited(text: str, edits: Sequence[Edit]) -> str:
    """The edits do not overlap."""
    for begin, end, replacement in sorted(edits, reverse=True):
        text = text[:begin] + replacement + text[end:]
    return text


def _edits(tokens: Sequence[Any], time: str, date: str) -> Iterator[Edit]:
    for index, token in enumerate(tokens):
        parens = [each.token_type for each in tokens[index + 1 : index + 3]] == [TokenType.L_PAREN, TokenType.R_PAREN]
        is_now = token.token_type is TokenType.VAR and token.text.lower() == "now" and parens
        is_time = is_now or token.token_type is TokenType.CURRENT_TIMESTAMP
        is_field = index > 0 and tokens[index - 1].token_type is TokenType.DOT
        if (is_time or token.token_type is TokenType.CURRENT_DATE) and not is_field:
            last = tokens[index + 2] if parens else token
            yield token.start, last.end + 1, time if is_time else date
