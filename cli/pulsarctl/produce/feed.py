"""The messages of one run on their way to a publisher: split, encoded, and at the rate that the user chose."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from pulsarctl.errors import DoesNotFit, UsageProblem
from pulsarctl.produce.outgoing import Outgoing
from pulsarctl.schemas.value_schema import Encode


class Receiver(Protocol):
    """What takes the messages. `is_refused` ends the run."""

    is_refused: bool

    def send(self, value: bytes | None, key: str | None = None) -> None: ...


@dataclass(frozen=True, slots=True)
class MessageSplit:
    """How to split the bytes of a message into key and value, and how to encode the value."""

    key: str | None
    key_delimiter: str | None
    tombstone: bool
    null_value: str | None
    encode: Encode | None = None

    @property
    def is_plain(self) -> bool:
        shaped = self.key_delimiter is not None or self.tombstone or self.null_value is not None
        return not shaped and self.encode is None

    def split(self, data: bytes) -> tuple[str | None, bytes | None]:
        """Raises `DoesNotFit`, and `UnicodeDecodeError` for a key that is not UTF-8, as the protocol requires."""
        key, value = self.key, data
        if self.key_delimiter is not None:
            head, separator, tail = data.partition(os.fsencode(self.key_delimiter))
            if separator:
                key, value = head.decode(), tail
        if self.tombstone and not value:
            return key, None
        if self.null_value is not None and value == os.fsencode(self.null_value):
            return key, None
        return key, value if self.encode is None else self.encode(value)


class Feed:
    """`position` is that of the last message that was handed over, from 1."""

    def __init__(self, receiver: Receiver, outgoing: Outgoing, shape: MessageSplit) -> None:
        self._receiver = receiver
        self._outgoing = outgoing
        self._shape = shape
        self.position = 0

    def run(self, rate: float, tell: Callable[[], None]) -> None:
        """Hands over all messages, `rate` per second (0: no limit). Calls `tell` from time to time.

        Raises `UsageProblem` for a message that cannot be split or encoded.
        """
        receiver, send, key = self._receiver, self._receiver.send, self._shape.key
        plain = self._shape.is_plain
        start = time.monotonic()
        for run in self._outgoing.runs():
            for data in run:
                if rate:
                    time.sleep(max(0.0, start + self.position / rate - time.monotonic()))
                self.position += 1
                if plain:
                    send(data, key)
                else:
                    self._send_split(data)
                if receiver.is_refused:
                    return
            tell()

    def _send_split(self, data: bytes) -> None:
        try:
            key, value = self._shape.split(data)
        except UnicodeDecodeError as error:
            source = self._outgoing.source_of(self.position)
            raise UsageProblem(f"cannot send {source}: the key is not UTF-8 ({error.reason})") from error
        except DoesNotFit as error:
            source = self._outgoing.source_of(self.position)
            raise UsageProblem(f"cannot send {source}: it does not match the schema: {error}") from error
        self._receiver.send(value, key)
