"""The topic that gets rows: its partitions, and which of them a row goes to."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pulsar

from pulsarctl.admin.schemas import SchemaInfo
from pulsarctl.client import client_errors
from pulsarctl.client.routing import java_string_hash
from pulsarctl.errors import CliError, TimedOut
from pulsarctl.tables.access import Access

CHECKPOINT_ROWS = 5000
AGAIN = "run the command again"


@dataclass(frozen=True, slots=True)
class Target:
    """It travels to tasks. `producer` is what the names of the producers start with.

    `schemas` is by the version that rows name, and `record_schema`, json or avro, is how structs are encoded.
    Everything is stored after each `checkpoint_rows` of a file. Runs must agree on it: it is a part of how batches end.
    """

    access: Access
    topic: str
    partitions: Sequence[str]
    producer: str
    schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    record_schema: str = ""
    checkpoint_rows: int = CHECKPOINT_ROWS

    def partition_of(self, key: str | None, source: int, row: int) -> int:
        """Keys by their hash, as in Java producers. Other rows stay in their partition if there is one like it."""
        if key:
            return java_string_hash(key) % len(self.partitions)
        return (source if source >= 0 else row) % len(self.partitions)

    def schema_of(self, version: int | None) -> SchemaInfo | None:
        """The one that values of this version are encoded with; None if there is none, or if it is unknown."""
        info = None if version is None else self.schemas.get(str(version))
        if info is None:
            return None
        definition = info["schema"] if isinstance(info["schema"], str) else json.dumps(info["schema"])
        return SchemaInfo(info["type"], definition, dict(info.get("properties") or {}))


def partitions_of(access: Access, topic: str) -> list[str]:
    """The names of the partitions, or of the topic if it has none. Raises `CliError`."""
    with closing(access.client()) as client, explained(access, topic):
        return list(client.get_topic_partitions(topic))


def create(access: Access, topic: str, names: Sequence[str]) -> None:
    """Creates partitions that are missing, or the topic, as the broker does for producers. Raises `CliError`."""
    with closing(access.client()) as client, explained(access, topic):
        for name in names:
            client.create_producer(name).close()


@contextmanager
def explained(access: Access, topic: str) -> Iterator[None]:
    """Failures of the client as `CliError`."""
    try:
        yield
    except pulsar.PulsarException as error:
        raise problem(access, topic, type(error).__name__) from error


def problem(access: Access, topic: str, result: str) -> CliError:
    """The error for one of the client's results, by name."""
    failure = client_errors.problem(result, f"write to {topic}", access.service_url)
    if isinstance(failure, TimedOut):
        failure.message = (
            f"cannot write to {topic}: no answer from {access.service_url} within {access.timeout_seconds:g} s"
        )
    failure.hint = failure.hint or AGAIN
    return failure
