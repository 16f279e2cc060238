"""The options that only streams have, checked: text in, one frozen object out."""

from collections.abc import Mapping
from dataclasses import dataclass

from pulsarctl.tables import option_values as values
from pulsarctl.tables.options import TableOptions

SPARK_OPTIONS = ("path", "checkpointlocation")
"""What Spark itself passes on."""


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """One field for each option of the same name.

    max_messages_per_trigger  about how many messages one micro-batch has, shared among partitions by their backlog
    max_bytes_per_trigger     the same in stored bytes
    min_messages_per_trigger  wait for this number of messages
    max_trigger_delay         the longest such wait, in seconds or as 15m
    subscription              a durable subscription whose backlog is what the query has not finished yet
    """

    max_messages_per_trigger: int | None = None
    max_bytes_per_trigger: int | None = None
    min_messages_per_trigger: int = 0
    max_trigger_delay: float = 900.0
    subscription: str = ""
    has_start: bool = False

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> "StreamOptions":
        """The options of streams among all options. Raises `UsageProblem`."""
        texts = {name.lower(): text for name, text in options.items()}
        fields_read = values.read_options({name: text for name, text in texts.items() if name in _READERS}, _READERS)
        return cls(**fields_read, has_start="start" in texts)


def table_options(options: Mapping[str, str]) -> TableOptions:
    """The other options. Raises `UsageProblem` for one that neither has."""
    skipped = (*_READERS, *SPARK_OPTIONS)
    return TableOptions.parse({name: text for name, text in options.items() if name.lower() not in skipped})


_READERS: dict[str, values.Reader] = {
    "max_messages_per_trigger": values.a_count,
    "max_bytes_per_trigger": values.some_bytes,
    "min_messages_per_trigger": values.a_count,
    "max_trigger_delay": values.some_seconds,
    "subscription": values.a_text,
}
