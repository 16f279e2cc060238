"""The options of writing, checked: text in, one frozen object out."""

from collections.abc import Mapping
from dataclasses import dataclass

from pulsarctl.errors import UsageProblem
from pulsarctl.tables import option_values as values
from pulsarctl.tables.access import LOCAL, Access
from pulsarctl.values.names import full_topic

SCHEMAS = ("none", "string", "json", "avro")
COMPRESSIONS = ("none", "lz4", "zlib", "zstd", "snappy")
_ACCESS = ("service_url", "admin_url", "token", "token_file", "timeout_seconds")


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """One field for each option of the same name.

    topic          the topic that gets the rows; a partitioned topic gets each key in one partition
    access         service_url, admin_url, token, token_file, timeout_seconds
    schema         of the column value: none (bytes, or text without a schema), string, json, avro. Empty: json for a
                   struct, else none
    producer_name  what the names of the producers start with
    compression    none, lz4, zlib, zstd, or snappy
    """

    topic: str
    access: Access = LOCAL
    schema: str = ""
    producer_name: str = "spark"
    compression: str = "lz4"

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> "WriteOptions":
        """Names in any case, as Spark passes them. Raises `UsageProblem`."""
        found = values.read_options({name.lower(): text for name, text in options.items()}, _READERS)
        if "topic" not in found:
            raise UsageProblem("cannot tell where to write", hint="specify the option topic")
        access = Access(**{name: found.pop(name) for name in _ACCESS if name in found})
        return cls(**found, access=access)


def _topic(name: str, text: str) -> str:
    return full_topic(text)


_READERS: dict[str, values.Reader] = {
    "topic": _topic,
    "service_url": values.a_text,
    "admin_url": values.a_text,
    "token": values.a_text,
    "token_file": values.a_text,
    "timeout_seconds": values.some_seconds,
    "schema": values.one_of(*SCHEMAS),
    "producer_name": values.a_text,
    "compression": values.one_of(*COMPRESSIONS),
}
