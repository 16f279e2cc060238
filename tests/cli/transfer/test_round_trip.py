"""Export, then import: equal messages for each key, in order."""

import itertools
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pulsar
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_core.testing import EmbeddedBroker
from pulsarctl.tables.access import Access
from pulsarctl.tables.options import TableOptions
from pulsarctl.tables.topic_table import TopicTable
from pulsarctl.transfer import manifest
from pulsarctl.transfer.exporting import Export, columns, in_order
from pulsarctl.transfer.file_formats import FileFormat, WholeFile, read_rows
from pulsarctl.transfer.imported_rows import import_source
from pulsarctl.transfer.part_files import By, Layout
from pulsarctl.transfer.places import Directory
from pulsarctl.transfer.portable import TYPES
from pulsarctl.transfer.row_blocks import ROWS_AT_ONCE
from pulsarctl.transfer.row_sender import RowSender
from pulsarctl.transfer.target import Target, partitions_of
from tests.cli.transfer.moved_topics import by_key

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {
            "content": st.none() | st.binary(max_size=20) | TEXT.map(str.encode),
            "partition_key": st.none() | st.sampled_from(["a", "b", 'quoted "key", with\ncomma']),
            "properties": st.dictionaries(TEXT.filter(bool), TEXT, max_size=2),
            "event_timestamp": st.none() | st.integers(1, 4_000_000_000_000),
            "ordering_key": st.none() | TEXT.filter(bool),
        }
    ),
    max_size=30,
)
COUNTER = itertools.count()


def publish(client: pulsar.Client, topic: str, messages: list[dict[str, object]], *, batching: bool) -> None:
    producer = client.create_producer(topic, batching_enabled=batching)
    for message in messages:
        producer.send_async(message["content"], None, **{k: v for k, v in message.items() if k != "content"})
    producer.flush()
    producer.close()


def move(broker: EmbeddedBroker, source: str, target: str, layout: Layout) -> None:
    where = Access(broker.service_url, broker.http_url)
    options = {"topic": source, "columns": ",".join(columns(typed=False)), "decode": "raw", "tasks_min": "3"}
    table = TopicTable.open(
        TableOptions.parse(options | {"service_url": where.service_url, "admin_url": where.admin_url})
    )
    parts = list(enumerate(table.plan()))
    files = in_order([Export(table, layout)(part) for part in parts])
    manifest.save(
        layout.place,
        manifest.Manifest(
            "id", source, layout.format, layout.by, "raw", 4, 1, sum(f.rows for f in files), {}, {}, files
        ),
    )
    found = import_source(layout.place.describe())
    with RowSender(Target(where, target, partitions_of(where, target), f"import-{target}")) as sender:
        for path in found.files:
            for batch in found.read(path, None):
                sender.send(batch)
            sender.end_file()


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(MESSAGES, st.sampled_from(FileFormat), st.sampled_from(By), st.booleans())
def test_any_messages_survive_any_format(
    pulsar_broker: EmbeddedBroker,
    client: pulsar.Client,
    tmp_path: Path,
    messages: list[dict[str, object]],
    kind: FileFormat,
    by: By,
    batching: bool,
) -> None:
    number = next(COUNTER)
    source, target = (f"persistent://public/default/{name}-{number}" for name in ("source", "target"))
    publish(client, source, messages, batching=batching)
    move(pulsar_broker, source, target, Layout(Directory(tmp_path / str(number)), kind, by, 4, 0))
    assert by_key(client, target) == by_key(client, source)


@pytest.mark.parametrize("kind", FileFormat)
@pytest.mark.parametrize("value", [None, b"", b"\xff\0", 'né\r\n,"'.encode()])
def test_each_format_keeps_null_empty_and_binary_apart(tmp_path: Path, kind: FileFormat, value: bytes | None) -> None:
    row = row_with(value)
    (found,) = read_rows(written(tmp_path, kind, [row]), kind)
    assert dict.fromkeys(TYPES) | found.to_pylist()[0] == row


@pytest.mark.parametrize("kind", FileFormat)
def test_messages_of_the_largest_size_come_back_in_each_format(tmp_path: Path, kind: FileFormat) -> None:
    sent = [b"first", b'"\n' * (5 << 19), b"\xff" * (5 << 20), b"last"]
    path = written(tmp_path, kind, [row_with(value) for value in sent])
    assert [value for batch in read_rows(path, kind) for value in batch.column("value").to_pylist()] == sent


@pytest.mark.parametrize("kind", FileFormat)
def test_large_rows_are_read_a_few_at_a_time(tmp_path: Path, kind: FileFormat) -> None:
    path = written(tmp_path, kind, [row_with(b"x" * (1 << 20))] * 40)
    found = list(read_rows(path, kind))
    assert sum(batch.num_rows for batch in found) == 40
    assert max(batch.num_rows for batch in found) <= 32
    assert [batch.num_rows for batch in read_rows(path, kind)] == [batch.num_rows for batch in found]


@pytest.mark.parametrize("kind", FileFormat)
def test_small_rows_are_read_in_large_blocks(tmp_path: Path, kind: FileFormat) -> None:
    found = list(read_rows(written(tmp_path, kind, [row_with(b"x")] * (ROWS_AT_ONCE + 7)), kind))
    assert sum(batch.num_rows for batch in found) == ROWS_AT_ONCE + 7
    assert len(found) <= 4


def row_with(value: bytes | None) -> dict[str, Any]:
    return {
        "topic": "t",
        "partition": -1,
        "message_id": "1:2:-1",
        "key": "" if value == b"" else None,
        "key_is_base64": False,
        "ordering_key": None if value is None else value[:20],
        "properties": [("a", ""), ("b", '"')],
        "publish_time": datetime(2026, 2, 3, 4, 5, 6, 789_000, tzinfo=UTC),
        "event_time": None,
        "deliver_at": None,
        "producer": "p",
        "sequence_id": -1,
        "schema_version": 3,
        "value": value,
    }


def written(directory: Path, kind: FileFormat, rows: list[dict[str, Any]]) -> Path:
    batch = pa.RecordBatch.from_pylist(rows, pa.schema(list(TYPES.items())))
    file = WholeFile(Directory(directory), f"x.{kind}", kind, batch.schema)
    file.write(batch)
    file.finish()
    return directory / file.name
