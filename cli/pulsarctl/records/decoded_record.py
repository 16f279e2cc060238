"""A record whose value is decoded by its schema."""

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pulsarctl.records.record import Record


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
        if isinstance(self.content, str):
            return self.content.encode()
        return json.dumps(self.content, ensure_ascii=False, separators=(",", ":")).encode()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.record, name)
