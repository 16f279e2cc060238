"""The options of writing, checked: text in, one frozen object out."""

from collections.abc import Mapping
from dataclasses import dataclass

from pulsarctl.errors import UsageProblem
from pulsarctl.tables import option_values as values
from pulsarctl.tables.access import LOCAL, Access
from pulsarctl.tables.access_options import ACCESS_READERS, access_of
from pulsarctl.values.names import check_writable, full_topic

SCHEMAS = ("none", "string", "json", "avro")
COMPRESSIONS = ("none", "lz4", "zlib", "zstd", "snappy")


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """One field for each option of the same name.

    topic          the topic that gets the rows; a partitioned topic gets each key in one partition
    access         addresses, credentials, certificates, deadlines: the options of `access_options`
    schema         of the column value: none (bytes, or text without a schema), string, json, avro. Empty: json for a
                   struct, else none
    producer_name  what the names of the producers start with
    compression    none, lz4, zlib, zstd, or snappy
    transaction    auto (where the broker has transactions), true, or false
    transaction_timeout  the longest time from the first row of a task to the commit of the job, such as 30m
    """

    topic: str
    access: Access = LOCAL
    schema: str = ""
    producer_name: str = "spark"
    compression: str = "lz4"
    transaction: str = "auto"
    transaction_timeout: float = 3600.0

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> "WriteOptions":
        """Names in any case, as Spark passes them. Raises `UsageProblem`."""
        fields_read = values.read_options({name.lower(): text for name, text in options.items()}, _READERS)
        if "topic" not in fields_read:
            raise UsageProblem("cannot write rows: no topic given", hint="specify the option topic")
        if fields_read.get("transaction") == "true" and fields_read["topic"].startswith("non-persistent:"):
            raise UsageProblem("cannot write to a non-persistent topic in a transaction")
        access = access_of(fields_read)
        return cls(**fields_read, access=access)


def _topic(name: str, text: str) -> str:
    check_writable(text)
    return full_topic(text)


_READERS: dict[str, values.Reader] = {
    **ACCESS_READERS,
    "topic": _topic,
    "schema": values.one_of(*SCHEMAS),
    "producer_name": values.a_text,
    "compression": values.one_of(*COMPRESSIONS),
    "transaction": values.one_of("auto", "true", "false"),
    "transaction_timeout": values.some_seconds,
}
