"""A schema as a client sends it: type, definition, and properties (Pulsar's `SchemaData`). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from broker_core.metadata.schema.schema_type import AVRO_BASED, SchemaType


@dataclass(frozen=True)
class SchemaData:
    """`data` is the definition on the wire: an Avro schema's JSON, two length-prefixed schemas, or empty."""

    type: SchemaType
    data: bytes = b""
    properties: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def identity(self) -> str:
        """Two schemas with the same type and identity are the same version.

        Avro-based definitions are compared by meaning, all others, and invalid Avro, byte by byte.
        """
        if self.type in AVRO_BASED:
            from broker_core.metadata.schema.avro import InvalidAvro, parse_avro
            from broker_core.metadata.schema.avro_identity import canonical_text

            try:
                return canonical_text(parse_avro(self.text))
            except (InvalidAvro, RecursionError):
                pass
        return self.data.hex()

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")
