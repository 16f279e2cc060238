"""Message IDs: where a message is, and the one way to read an ID that someone typed. Pure."""

import re
from typing import NamedTuple

from pulsarctl.errors import UsageProblem

LONG_MAX = (1 << 63) - 1
_NUMBER = r"(-1|\d+)"
_MESSAGE_ID = re.compile(rf"{_NUMBER}:{_NUMBER}(?::{_NUMBER})?(?::{_NUMBER})?")


class MessageId(NamedTuple):
    """The position of a message. `partition` and `batch_index` are -1 for none. IDs of one partition are ordered."""

    ledger_id: int
    entry_id: int
    partition: int = -1
    batch_index: int = -1

    def __str__(self) -> str:
        """`ledger:entry:partition`, with `:batch_index` in a batch, as Pulsar's clients print IDs."""
        batch_index = f":{self.batch_index}" if self.batch_index >= 0 else ""
        return f"{self.ledger_id}:{self.entry_id}:{self.partition}{batch_index}"

    @property
    def position(self) -> tuple[int, int]:
        """`(ledger_id, entry_id)`."""
        return self.ledger_id, self.entry_id

    @property
    def is_end(self) -> bool:
        """Whether it is `EARLIEST` or `LATEST`."""
        return self.position in (EARLIEST.position, LATEST.position)


EARLIEST = MessageId(-1, -1)
LATEST = MessageId(LONG_MAX, LONG_MAX)


def message_id_in(text: str) -> MessageId | None:
    """The ID in `LEDGER:ENTRY[:PARTITION[:BATCH]]`, or None for any other text."""
    match = _MESSAGE_ID.fullmatch(text.strip())
    return None if match is None else MessageId(*(int(number) for number in match.groups("-1")))


def parse_message_id(text: str) -> MessageId:
    """`earliest`, `latest`, or `LEDGER:ENTRY[:PARTITION[:BATCH]]`. Raises `UsageProblem`."""
    named = {"earliest": EARLIEST, "latest": LATEST}.get(text.strip().lower())
    message_id = named or message_id_in(text)
    if message_id is None:
        raise UsageProblem(
            f"'{text}' is not a message ID", hint="use earliest, latest, or LEDGER:ENTRY[:PARTITION[:BATCH]]"
        )
    return message_id
