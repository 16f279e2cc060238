"""The columns value, raw_value, and decode_error of one range.

A message that cannot be decoded keeps its row: value is null, raw_value has the bytes, and decode_error says why.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from broker_core.wire.batch import is_encrypted
from pulsarctl.errors import DoesNotFit
from pulsarctl.schemas.key_values import join_pair, takes_key
from pulsarctl.tables.rows import Message, Rows
from pulsarctl.tables.typed.evolution import Writer, renamed
from pulsarctl.tables.typed.shape import Decode
from pulsarctl.tables.typed.shapes import shape_of
from pulsarctl.tables.typed.value_type import ValueType
from pulsarctl.values.message_keys import from_base64
from pulsarctl.values.names import without_partition

NAMES = ("value", "raw_value", "decode_error")


class Decoder(NamedTuple):
    decode: Decode
    takes_key: bool


class TypedValues:
    """`fails`: a message that cannot be decoded raises `DoesNotFit`, which names it."""

    def __init__(self, topic: str, kind: ValueType, *, fails: bool) -> None:
        self._topic = topic
        self._whole_topic = without_partition(topic)  # partitions share the schema of their topic
        self._kind = kind
        self._fails = fails
        self._decoders: dict[bytes | None, Decoder | str] = {}
        self._values: list[Any] = []
        self._payloads: list[bytes | None] = []
        self._errors: list[str | None] = []

    def add(self, rows: Rows) -> None:
        """Decodes the values of some rows."""
        versions = rows.per_row([_version(entry.metadata) for entry in rows.entries])
        for row, (data, version) in enumerate(zip(rows.values, versions, strict=True)):
            decoder = self._decoders.get(version) or self._decoder(version)
            self._payloads.append(data)
            try:
                if isinstance(decoder, str):
                    raise DoesNotFit(decoder)
                if decoder.takes_key:
                    value = decoder.decode(join_pair(_key(rows.messages[row]), data))
                else:
                    value = None if data is None else decoder.decode(data)
            except DoesNotFit as error:
                self._fail(rows, row, str(error))
            else:
                self._values.append(value)
                self._errors.append(None)

    def take(self) -> dict[str, pa.Array]:
        """The arrays of everything that was added since the last call."""
        values, payloads, errors = self._values, self._payloads, self._errors
        self._values, self._payloads, self._errors = [], [], []
        try:
            array = pa.array(values, self._kind.arrow)
        except (pa.ArrowException, ValueError, OverflowError, TypeError, UnicodeEncodeError):
            array = self._one_by_one(values, errors)
        raw = [None if error is None else data for data, error in zip(payloads, errors, strict=True)]
        return {"value": array, "raw_value": pa.array(raw, pa.binary()), "decode_error": pa.array(errors, pa.string())}

    def _fail(self, rows: Rows, row: int, reason: str) -> None:
        encrypted = rows.per_row([is_encrypted(entry.metadata) for entry in rows.entries])[row]
        reason = "it is encrypted" if encrypted else reason
        if self._fails:
            raise self._unfit(reason)
        self._values.append(None)
        self._errors.append(reason)

    def _unfit(self, reason: str) -> DoesNotFit:
        return DoesNotFit(
            f"cannot decode a message of {self._topic}: {reason}",
            hint="set undecodable=column to keep such rows, or decode=raw",
        )

    def _one_by_one(self, values: Sequence[Any], errors: list[str | None]) -> pa.Array:
        """Arrow refused the column: find the rows that it refuses."""
        kept = []
        for row, value in enumerate(values):
            try:
                pa.array([value], self._kind.arrow)
                kept.append(value)
            except (pa.ArrowException, ValueError, OverflowError, TypeError, UnicodeEncodeError) as error:
                reason = f"the value does not fit the type of the column: {error}"
                if self._fails:
                    raise self._unfit(reason) from error
                kept.append(None)
                errors[row] = reason
        return pa.array(kept, self._kind.arrow)

    def _decoder(self, version: bytes | None) -> Decoder | str:
        decoder = self._made(version)
        self._decoders[version] = decoder
        return decoder

    def _made(self, version: bytes | None) -> Decoder | str:
        """The decoder of a version, or why there is none."""
        kind = self._kind
        if kind.always is not None:
            return Decoder(shape_of(kind.always).decode, False)
        writer = self._writer(version)
        if writer is None:
            return "the message names no schema version"
        info = kind.infos.get(writer)
        if info is None:
            return f"schema version {writer[1]} is not known; it may be newer than the query"
        if writer in kind.misfits:
            return f"schema version {writer[1]} does not fit the type of the column"
        try:
            shape = shape_of(info)
        except DoesNotFit as error:
            return f"schema version {writer[1]}: {error}"
        if shape.is_raw:
            return f"schema version {writer[1]} ({info['type']}) describes no value"
        if renames := kind.renames.get(writer):
            return Decoder(lambda data: renamed(shape.decode(data), renames), takes_key(info))
        return Decoder(shape.decode, takes_key(info))

    def _writer(self, version: bytes | None) -> Writer | None:
        if version is None or len(version) != 8:
            return self._kind.latest.get(self._whole_topic)
        return self._whole_topic, int.from_bytes(version)


def _version(metadata: Any) -> bytes | None:
    return metadata.schema_version if metadata.HasField("schema_version") else None


def _key(message: Message) -> bytes | None:
    if not message.HasField("partition_key") or message.null_partition_key:
        return None
    key = message.partition_key.encode()
    return from_base64(key) if message.partition_key_b64_encoded else key
