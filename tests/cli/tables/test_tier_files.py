"""Offloaded ledgers are read from their tier files, and give the rows that the broker gives."""

import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import boto3  # type: ignore[import-untyped]  # it ships no types
import pulsar
import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs

from broker_core.config.offload import OffloadConfig
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.raw.entry import DamagedEntry
from pulsarctl.tables.ledger_ranges import LedgerRange
from pulsarctl.tables.options import TableOptions
from pulsarctl.tables.topic_table import TopicTable
from tests.cli.tables.topics import rows, seen_by_official_reader, table
from tests.support.offloaded_topic import OffloadedTopic, in_directory, offloaded_topic
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, send

BUCKET = "tier"
ENTRIES_PER_TASK = "7"  # so that parts begin and end within ledgers


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tier")


@pytest.fixture(scope="module")
def shared(store: Path) -> Iterator[OffloadedTopic]:
    with offloaded_topic(in_directory(store)) as one:
        yield one


@pytest.fixture
def one(shared: OffloadedTopic, request: pytest.FixtureRequest) -> OffloadedTopic:
    """A topic of its own with single messages, batches, chunks, compression, and tombstones, offloaded."""
    found = OffloadedTopic(shared.broker, shared.client, f"persistent://public/default/{request.node.name}")
    fill(found)
    return found


def fill(one: OffloadedTopic) -> None:
    one.client.subscribe(one.name, "keeps").close()
    one.publish([b"%d" % number for number in range(25)], properties={"a": "b"}, partition_key="k")
    batches = one.client.create_producer(
        one.name, batching_enabled=True, batching_max_messages=5, compression_type=pulsar.CompressionType.ZSTD
    )
    for number in range(40):
        batches.send_async(b"%d" % number if number % 7 else b"", None, partition_key=f"k{number}")
    batches.flush()
    batches.close()
    chunks = one.client.create_producer(one.name, batching_enabled=False, chunking_enabled=True)
    chunks.send(b"x" * (6 << 20))
    chunks.close()
    one.roll()
    one.offload()
    one.drop_files()


def tiered(one: OffloadedTopic, store: Path | str, **options: str) -> TopicTable:
    uri = store if isinstance(store, str) else f"file://{store}"
    return table(one.broker, one.name, tier_store=uri, entries_per_task=ENTRIES_PER_TASK, **options)


def from_copies(parts: list[LedgerRange]) -> bool:
    return bool(parts) and all(part.place.copy for part in parts)


def test_tier_files_give_the_rows_of_the_broker_and_of_an_official_reader(one: OffloadedTopic, store: Path) -> None:
    reading = tiered(one, store)
    assert from_copies(reading.plan())
    found = rows(reading)
    assert found == rows(table(one.broker, one.name))
    assert [(row["message_id"], row["value"]) for row in found] == seen_by_official_reader(one.client, one.name)


def test_tier_files_give_the_entries_of_the_broker(one: OffloadedTopic, store: Path) -> None:
    assert rows(tiered(one, store, unit="entry")) == rows(table(one.broker, one.name, unit="entry"))


def test_the_open_ledger_is_read_through_the_broker(one: OffloadedTopic, store: Path) -> None:
    producer = one.client.create_producer(one.name)
    producer.send(b"newest")
    producer.close()
    reading = tiered(one, store)
    assert {bool(part.place.copy) for part in reading.plan()} == {True, False}
    assert rows(reading) == rows(table(one.broker, one.name))


def test_markers_of_replicators_are_no_rows_of_a_copy_or_of_a_file(shared: OffloadedTopic, store: Path) -> None:
    one = OffloadedTopic(shared.broker, shared.client, "persistent://public/default/marked")
    one.client.subscribe(one.name, "keeps").close()
    name = "pulsar.repl.east-->west"
    with RawClient(one.broker.service_url) as raw:
        raw.ask(producer(one.name, producer_name=name, user_provided_producer_name=True), BaseCommand.PRODUCER_SUCCESS)
        for number in range(6):
            is_marker = number % 3 == 1
            metadata = {"replicated_from": "east", **({"marker_type": 10} if is_marker else {})}
            raw.send(send(number, b"%d" % number, name=name, metadata=metadata, marker=is_marker))
            raw.expect(BaseCommand.SEND_RECEIPT)
    one.roll()
    one.broker.call(one.broker.broker.storage.checkpoint())
    files = table(one.broker, one.name, data_directory=str(one.broker.directory))
    assert all(part.place.path for part in files.plan())
    assert len(rows(files)) == 4
    one.offload()
    one.drop_files()
    found = rows(tiered(one, store))
    assert [row["value"] for row in found] == [b"0", b"2", b"3", b"5"]
    assert found == rows(table(one.broker, one.name))


def test_a_plan_is_read_without_the_broker(tmp_path: Path) -> None:
    with offloaded_topic(in_directory(tmp_path / "store")) as one:
        fill(one)
        reading = tiered(one, tmp_path / "store")
        parts = reading.plan()
        expected = [row["value"] for row in rows(table(one.broker, one.name))]
    found = [value for part in parts for batch in reading.read(part) for value in batch["value"].to_pylist()]
    assert found == expected


def test_an_altered_tier_file_is_never_read_as_something_else(one: OffloadedTopic, store: Path) -> None:
    reading = tiered(one, store)
    damaged, *_, whole = reading.plan()
    file = store / damaged.place.copy
    content = bytearray(file.read_bytes())
    content[len(content) // 4] ^= 1
    file.write_bytes(content)
    with pytest.raises(DamagedEntry, match=f"cannot read ledger {damaged.ledger_id} of {one.name}"):
        list(reading.read(damaged))
    assert sum(batch.num_rows for batch in reading.read(whole))


def test_a_file_of_another_ledger_in_its_place_is_refused(one: OffloadedTopic, store: Path) -> None:
    reading = tiered(one, store)
    first, other = [part for part in reading.plan() if part.first == 0][:2]
    (store / first.place.copy).write_bytes((store / other.place.copy).read_bytes())
    with pytest.raises(DamagedEntry, match="was altered"):
        list(reading.read(first))


def test_a_ledger_that_is_restored_after_the_plan_is_read_through_the_broker(one: OffloadedTopic, store: Path) -> None:
    reading = tiered(one, store)
    parts, expected = reading.plan(), rows(reading)
    one.rest("POST", "offload/restore")
    for part in parts:
        (store / part.place.copy).unlink(missing_ok=True)
    assert [row for part in parts for batch in reading.read(part) for row in batch.to_pylist()] == expected


def test_a_store_of_another_broker_is_not_used(one: OffloadedTopic, tmp_path: Path) -> None:
    reading = tiered(one, tmp_path)
    assert not any(part.place.copy for part in reading.plan())
    assert rows(reading) == rows(table(one.broker, one.name))


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The endpoint of an S3 server with a bucket; from `secured` on, it checks credentials."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        s3 = fs.S3FileSystem(
            endpoint_override=f"{host}:{port}", scheme="http", region="us-east-1", allow_bucket_creation=True
        )
        s3.create_dir(BUCKET)
        yield f"http://{host}:{port}"
    finally:
        check_credentials(f"http://{host}:{port}", "inf")
        server.stop()


def check_credentials(endpoint: str, after_requests: str) -> None:
    url = f"{endpoint}/moto-api/reset-auth"
    request = urllib.request.Request(url, after_requests.encode(), {"Content-Type": "text/plain"})
    urllib.request.urlopen(request, timeout=20).close()


def user_with_access(endpoint: str) -> tuple[str, str]:
    """Access key and secret of a user that may do everything in S3."""
    iam = boto3.client("iam", endpoint_url=endpoint, region_name="us-east-1")
    iam.create_user(UserName="reader")
    policy = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}'
    iam.put_user_policy(UserName="reader", PolicyName="all", PolicyDocument=policy)
    key = iam.create_access_key(UserName="reader")["AccessKey"]
    return key["AccessKeyId"], key["SecretAccessKey"]


def test_tier_files_in_s3_are_read_with_the_credentials_of_the_options(bucket: str, tmp_path: Path) -> None:
    config = OffloadConfig(
        driver="aws-s3", s3_bucket=BUCKET, s3_region="us-east-1", s3_endpoint=bucket, deletion_lag_ms=-1
    )
    uri = f"s3://{BUCKET}?endpoint_override={bucket.removeprefix('http://')}&scheme=http&region=us-east-1"
    with offloaded_topic(config) as one:
        fill(one)
        expected = rows(table(one.broker, one.name))
        access_key, secret = user_with_access(bucket)
        (tmp_path / "secret").write_text(f"{secret}\n")
        check_credentials(bucket, "0")
        with pytest.raises(CliError, match="cannot list s3://"):
            tiered(one, uri).plan()
        reading = tiered(one, uri, tier_access_key=access_key, tier_secret_key_file=str(tmp_path / "secret"))
        assert from_copies(reading.plan())
        assert rows(reading) == expected


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tier_store": "ftp://x"}, "is not the URI of a store"),
        ({"tier_store": "s3://key:secret@bucket"}, "cannot hold credentials"),
        ({"tier_access_key": "a", "tier_secret_key": "b"}, "it needs tier_store"),
        ({"tier_store": "s3://bucket", "tier_access_key": "a"}, "the access key or the secret key is missing"),
    ],
)
def test_an_unusable_store_is_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(UsageProblem, match=said):
        TableOptions.parse({"topic": "t", **given})


def test_a_secret_is_not_shown() -> None:
    options = TableOptions.parse(
        {"topic": "t", "tier_store": "s3://b", "tier_access_key": "a", "tier_secret_key": "hush"}
    )
    assert "hush" not in repr(replace(options, columns=("key",)))
