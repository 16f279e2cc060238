"""Exports to object stores, and imports from them: an S3 server with faults in front of it, and a server of GCS."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.transfer import manifest
from pulsarctl.transfer.file_formats import FileFormat
from pulsarctl.transfer.places import Prefix, place_at
from tests.cli.transfer.moved_topics import by_key, command
from tests.support.condition import wait_until
from tests.support.export_buckets import BUCKET, S3, s3_server
from tests.support.fault_proxy import Request
from tests.support.gcs_server import gcs_server
from tests.support.official_client import connect
from tests.support.runner import Cli

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def s3() -> Iterator[S3]:
    with pytest.MonkeyPatch.context() as patch, s3_server(patch) as found:
        yield found


@pytest.fixture(scope="module")
def module_client(pulsar_broker: EmbeddedBroker) -> Iterator[pulsar.Client]:
    client = connect(pulsar_broker.service_url)
    yield client
    client.close()


@pytest.fixture
def ops(pulsar_broker: EmbeddedBroker, tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """Runs a command in this process: its exit code, and what it prints."""
    cli = Cli(tmp_path, pulsar_broker.http_url, pulsar_broker.service_url)

    def run(*words: str) -> tuple[int, str]:
        outcome = cli("ops", *words, "-o", "json")
        return outcome.exit_code, outcome.stdout + outcome.stderr

    return run


def publish(client: pulsar.Client, topic: str, count: int, first: int = 0) -> None:
    producer = client.create_producer(topic, batching_enabled=True, batching_max_messages=10)
    for number in range(first, first + count):
        producer.send_async(f"v{number}".encode(), None, partition_key=f"k{number % 5}")
    producer.flush()
    producer.close()


Ops = Callable[..., tuple[int, str]]


@pytest.mark.parametrize("kind", FileFormat)
def test_each_format_goes_to_a_bucket_and_back(
    s3: S3, module_client: pulsar.Client, ops: Ops, topic: str, kind: FileFormat
) -> None:
    publish(module_client, topic, 40)
    uri = s3.uri(f"formats/{kind}")
    assert ops("export", topic, uri, "-f", kind, "--by", "key", "--key-groups", "3")[0] == 0
    assert ops("verify", "--export", uri)[0] == 0
    assert ops("import", uri, f"{topic}-copy")[0] == 0
    assert by_key(module_client, f"{topic}-copy") == by_key(module_client, topic)


def test_an_export_to_a_bucket_is_incremental(s3: S3, module_client: pulsar.Client, ops: Ops, topic: str) -> None:
    for first in (0, 20):
        publish(module_client, topic, 20, first=first)
        assert ops("export", topic, s3.uri("more"), "--incremental")[0] == 0
    found = manifest.load(s3.place("more"))
    assert found is not None
    assert (found.rows, len(found.files), found.runs) == (40, 2, 2)
    assert sorted(s3.place("more").names()) == sorted([manifest.NAME, *(each.path for each in found.files)])
    code, text = ops("export", topic, s3.uri("more"))
    assert (code, "use --incremental" in text) == (6, True)


def test_one_object_is_imported(s3: S3, module_client: pulsar.Client, ops: Ops, topic: str, tmp_path: Path) -> None:
    place = s3.place("mine")
    draft = place.draft("mine.csv")
    draft.write_text("key,value\na,1\nb,2\n")
    place.put(draft, "mine.csv")
    assert ops("import", s3.uri("mine/mine.csv"), topic)[0] == 0
    assert {key: rows[0][0] for key, rows in by_key(module_client, topic).items()} == {"a": b"1", "b": b"2"}
    code, text = ops("import", s3.uri("mine/yours.csv"), topic)
    assert (code, "no such file" in text) == (3, True)


def test_an_altered_object_is_reported_and_not_imported(
    s3: S3, module_client: pulsar.Client, ops: Ops, topic: str
) -> None:
    publish(module_client, topic, 5)
    ops("export", topic, s3.uri("altered"), "-f", "jsonl")
    with s3.proxy.doing("alter", lambda request: request.method == "GET" and request.path.endswith(".jsonl")):
        code, text = ops("verify", "--export", s3.uri("altered"))
        assert (code, "its checksum differs" in text) == (1, True)
        code, text = ops("import", s3.uri("altered"), f"{topic}-copy")
        assert (code, "it is not what was exported" in text) == (1, True)


def test_an_object_that_cannot_be_read_back_is_removed(s3: S3, tmp_path: Path) -> None:
    place = s3.place("unread")
    for fault, reason in (("alter", "does not return what was written"), ("refuse", "GetObject")):
        draft = place.draft("x.csv")
        draft.write_text("value\n1\n")
        with (
            s3.proxy.doing(fault, lambda request: request.method == "GET" and request.path.endswith("x.csv")),
            pytest.raises((CliError, OSError), match=reason),
        ):
            place.put(draft, "x.csv")
    assert place.names() == []


def test_what_is_there_stays_until_the_new_object_is_whole(s3: S3) -> None:
    place = s3.place("replaced")
    for text in ("old", "new"):
        draft = place.draft("state.json")
        draft.write_text(text)
        if text == "old":
            place.put(draft, "state.json")
            continue
        with s3.proxy.doing("refuse", lambda request: request.method == "PUT"), pytest.raises(OSError):
            place.put(draft, "state.json")
    assert (place.read("state.json"), place.names()) == (b"old", ["state.json"])


@pytest.mark.slow
def test_an_export_that_is_killed_leaves_nothing_after_the_next_one(
    s3: S3, pulsar_broker: EmbeddedBroker, module_client: pulsar.Client, ops: Ops, topic: str
) -> None:
    publish(module_client, topic, 30)
    arguments = ("export", topic, s3.uri("killed"), "--by", "key", "--key-groups", "3")

    def is_last(request: Request) -> bool:
        return request.method == "PUT" and request.path.endswith(manifest.NAME)

    with s3.proxy.doing("hold", is_last), subprocess.Popen(command(pulsar_broker, *arguments)) as running:
        try:
            wait_until(s3.proxy.held.is_set, 60)
        finally:
            running.send_signal(signal.SIGKILL)
    place = s3.place("killed")
    assert place.names()
    assert ops("import", s3.uri("killed"), f"{topic}-copy", "--dry-run")[0] == 0  # of the files, without an export
    code, text = ops("export", topic, s3.uri("killed"))
    assert code == 0, text
    found = manifest.load(place)
    assert found is not None
    assert (found.rows, sorted(place.names())) == (30, sorted([manifest.NAME, *(each.path for each in found.files)]))


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("s3://", "not the URI of a store"),
        ("ftp://host/x", "not the URI of a store"),
        ("s3://key:secret@bucket/x", "cannot hold credentials"),
        ("s3://bucket/x?surprise=1", "surprise"),
    ],
)
def test_a_wrong_uri_is_refused(uri: str, reason: str) -> None:
    with pytest.raises(UsageProblem, match=reason):
        place_at(uri)


def test_azure_is_another_prefix() -> None:
    place = place_at("abfss://container@account.dfs.core.windows.net/orders")
    assert (type(place), place.describe("x")) == (Prefix, "abfss://container@account.dfs.core.windows.net/orders/x")


@pytest.fixture(scope="module")
def gcs() -> Iterator[str]:
    """The URI of a bucket."""
    with gcs_server(BUCKET) as address:
        yield f"gs://anonymous@{BUCKET}/orders?scheme=http&endpoint_override={address}"


def test_google_cloud_storage_takes_exports_and_returns_them(
    gcs: str, module_client: pulsar.Client, ops: Ops, topic: str
) -> None:
    publish(module_client, topic, 20)
    for _ in range(2):
        code, text = ops("export", topic, gcs, "--incremental")
        assert code == 0, text
    assert ops("verify", "--export", gcs)[0] == 0
    assert ops("import", gcs, f"{topic}-copy")[0] == 0
    assert by_key(module_client, f"{topic}-copy") == by_key(module_client, topic)
