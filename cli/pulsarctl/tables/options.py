"""The options of a table, checked: text in, one frozen object out."""

from collections.abc import Mapping
from dataclasses import dataclass

from pulsarctl.errors import UsageProblem
from pulsarctl.tables import option_values as values
from pulsarctl.tables.access import LOCAL, Access
from pulsarctl.tables.access_options import ACCESS_READERS, access_of
from pulsarctl.tables.bound_options import end_of, start_of
from pulsarctl.tables.bounds import FROM_FIRST, TO_LAST, Bounds
from pulsarctl.tables.tier_store import TIER_READERS, TierStore, tier_of
from pulsarctl.tables.typed.value_type import DECODE

ALL_SUBSCRIPTIONS = "*"
UNITS = ("message", "entry")


@dataclass(frozen=True, slots=True)
class TableOptions:
    """One field for each option of the same name. Exactly one of `topics`, `topics_pattern`, and `namespace` is given.

    `begin` is not an option: a run that continues an earlier one sets it to the start of the first run. Chunks that are
    between `begin` and `start` complete the messages whose last chunk is read.

    topics             topics separated by commas (`topic` means the same); partitioned topics with all partitions
    topics_pattern     a regular expression that the whole name of a topic matches, such as shop/eu/orders-.*, or
                       topic://shop/eu/.* for scalable topics only
    namespace          every persistent topic of TENANT/NAMESPACE except system topics, which start with two underscores
    access             addresses, credentials, certificates, deadlines: the options of `access_options`
    subscriptions      names separated by commas, or `*`: only what they have not acknowledged, one row for each of them
    start, end         `earliest`, `latest`, `LEDGER:ENTRY`, a time (`-1h`), or a JSON object of these by partition
    full_scan          read whole topics for bounds by time: publish times may be out of order by more than a minute
    unit               `message`: batches are split, and chunks joined; `entry`: one row for each stored entry
    columns            names separated by commas; other columns are neither computed nor decompressed. Empty: all
    decode             `auto`: by the schema of each message; `raw`: bytes; or string, json, avro, protobuf, keyvalue
    undecodable        `column`: a message that cannot be decoded has raw_value and decode_error; `fail`: it is an error
    data_directory     of a pulsarctl broker: sealed ledgers are read from its files, without the broker
    tier               store of offloaded ledgers, which are read there without the broker: the options of `tier_store`
    fail_on_data_loss  fail if entries of the plan are gone; otherwise skip them
    tasks_min          minimum number of parts, if there is enough to read
    entries_per_task   maximum number of entries in one part
    """

    topics: tuple[str, ...] = ()
    topics_pattern: str = ""
    namespace: str = ""
    access: Access = LOCAL
    subscriptions: tuple[str, ...] = ()
    start: Bounds = FROM_FIRST
    end: Bounds = TO_LAST
    begin: Bounds | None = None
    full_scan: bool = False
    unit: str = "message"
    columns: tuple[str, ...] = ()
    decode: str = "auto"
    undecodable: str = "column"
    data_directory: str = ""
    tier: TierStore | None = None
    fail_on_data_loss: bool = True
    tasks_min: int = 8
    entries_per_task: int = 50_000

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> "TableOptions":
        """Names in any case, as Spark passes them. Raises `UsageProblem`."""
        texts = {name.lower(): text for name, text in options.items()}
        if "topic" in texts:
            texts["topics"] = ",".join(filter(None, (texts.get("topics"), texts.pop("topic"))))
        values_read = values.read_options(texts, _READERS)
        access = access_of(values_read)
        tier = tier_of(values_read, access.timeout_seconds)
        parsed = cls(**values_read, access=access, tier=tier)
        if sum(map(bool, (parsed.topics, parsed.topics_pattern, parsed.namespace))) != 1:
            raise UsageProblem(
                "cannot read: no target given, or more than one",
                hint="specify one of the options topic, topics, topics_pattern, and namespace",
            )
        return parsed


_READERS: dict[str, values.Reader] = {
    **ACCESS_READERS,
    **TIER_READERS,
    "topics": values.some_names,
    "topics_pattern": values.a_pattern,
    "namespace": values.a_text,
    "subscriptions": values.some_names,
    "start": start_of,
    "end": end_of,
    "full_scan": values.yes_or_no,
    "unit": values.one_of(*UNITS),
    "columns": values.some_names,
    "decode": values.one_of(*DECODE),
    "undecodable": values.one_of("column", "fail"),
    "data_directory": values.a_text,
    "fail_on_data_loss": values.yes_or_no,
    "tasks_min": values.a_count,
    "entries_per_task": values.a_count,
}
