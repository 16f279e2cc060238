"""A record whose value is decoded by its schema."""

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from pulsarctl.values.json_text import without_nan

if TYPE_CHECKING:
    from pulsarctl.records.record import Record


_encode = partial(json.dumps, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class DecodedRecord:
    """The fields of `record`, except `value`, which is the decoded `content` as JSON, or as plain text."""

    __slots__ = ("content", "error", "record")

    def __init__(self, record: "Record", content: Any, error: str | None = None) -> None:
        self.record = record
        self.content = content
        self.error = error or record.error

    @property
    def value(self) -> bytes:
        """The decoded value, or the original bytes if decoding failed."""
        if self.content is None:
            return self.record.value or b""
        text = self.content if isinstance(self.content, str) else without_nan(_encode, self.content)
        return text.encode("utf-8", "replace")  # JSON may have half of a character

    def __getattr__(self, name: str) -> Any:
        return getattr(self.record, name)
