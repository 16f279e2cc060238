"""What the column `value` of a table holds: one type for all topics and versions. Made on the driver, used in tasks."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from pulsarctl.admin.client import AdminClient
from pulsarctl.errors import DoesNotFit, NotFound, UsageProblem
from pulsarctl.tables.typed.evolution import Renames, Writer, unite
from pulsarctl.tables.typed.shapes import shape_of
from pulsarctl.values.names import without_partition

Info = dict[str, Any]

DECODE = ("auto", "raw", "string", "json", "avro", "protobuf", "keyvalue")
_TYPES_OF: dict[str, tuple[str, ...]] = {
    "json": ("JSON",),
    "avro": ("AVRO",),
    "protobuf": ("PROTOBUF_NATIVE",),
    "keyvalue": ("KEY_VALUE",),
}
_STRING: Info = {"type": "STRING", "schema": "", "properties": {}}


@dataclass(frozen=True, slots=True)
class ValueType:
    """`always`: decodes every message, whatever its version. `latest` decodes those that name no version."""

    arrow: pa.DataType
    infos: Mapping[Writer, Info] = field(default_factory=dict)
    renames: Mapping[Writer, Renames] = field(default_factory=dict)
    misfits: frozenset[Writer] = frozenset()
    always: Info | None = None
    latest: Mapping[str, Writer] = field(default_factory=dict)


def value_type(
    admin: AdminClient, topics: Sequence[str], decode: str, *, oldest_first: bool = False
) -> ValueType | None:
    """None: bytes stay bytes. `topics` are full names, of partitions or not. `oldest_first` as in `united_type`.

    Raises `UsageProblem` if the topics have no schema of the kind that `decode` names, or schemas that do not combine.
    """
    if decode == "raw":
        return None
    if decode == "string":
        return ValueType(pa.string(), always=_STRING)
    infos = {
        (topic, version): info
        for topic in dict.fromkeys(map(without_partition, topics))
        for version, info in _versions(admin, topic)
        if decode == "auto" or info["type"] in _TYPES_OF[decode]
    }
    if not infos and decode != "auto":
        raise UsageProblem(
            f"cannot decode as {decode}: the topics have no such schema",
            hint="use decode=string or decode=raw, and parse the value in the query",
        )
    return united_type(infos, takes_latest=decode != "auto", oldest_first=oldest_first)


def _versions(admin: AdminClient, topic: str) -> list[tuple[int, Info]]:
    try:
        documents = admin.schemas.all_versions(topic)
    except NotFound:
        return []
    return [(int(document["version"]), document["schemaInfo"]) for document in documents]


def united_type(infos: Mapping[Writer, Info], *, takes_latest: bool, oldest_first: bool = False) -> ValueType | None:
    """Versions of all topics in one order: by topic, and in each topic by version.

    `oldest_first`: later versions change no column of the type, so that rows of them can be added to a table.
    """
    types: list[tuple[Writer, pa.DataType]] = []
    for writer, info in infos.items():
        with suppress(DoesNotFit):  # its messages have the error instead of a value
            shape = shape_of(info)
            if not shape.is_raw:
                types.append((writer, shape.arrow))
    if not types:
        return None
    united = unite(types, oldest_first=oldest_first)
    _check_topics(
        {topic for (topic, _), _ in types}, {topic for topic, _ in united.misfits}, {topic for topic, _ in infos}
    )
    latest = {topic: (topic, version) for (topic, version), _ in types} if takes_latest else {}
    return ValueType(united.arrow, infos, united.renames, united.misfits, latest=latest)


def _check_topics(typed: set[str], unfit: set[str], every: set[str]) -> None:
    """A version of one topic that fits nothing is an error in its rows; a topic of another type is one in the query."""
    if len(every) > 1 and (unfit or typed != every):
        raise UsageProblem(
            "cannot read topics with different kinds of schemas as one table: " + ", ".join(sorted(every)),
            hint="read them one by one, or use decode=raw",
        )
