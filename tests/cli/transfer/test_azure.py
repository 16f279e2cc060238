"""Azure, through Azurite: exports and imports, and offloaded ledgers."""

import base64
import hmac
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pulsar
import pytest

pytest.importorskip("pyarrow")

from broker_core.config.offload import OffloadConfig
from pulsarctl.transfer import manifest
from pulsarctl.transfer.object_stores import AZURE_KEYS, azure_options, azure_secret
from pulsarctl.transfer.places import place_at
from tests.cli.transfer.moved_topics import by_key
from tests.support.azure_server import ACCOUNT, KEY, azure_server
from tests.support.condition import wait_until
from tests.support.offloaded_topic import offloaded_topic, values
from tests.support.runner import Cli, Outcome

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
CONTAINER = "archive"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch, azure_server(CONTAINER) as found:
        patch.setenv("AZURE_STORAGE_ACCOUNT", ACCOUNT)
        patch.setenv("AZURE_STORAGE_ACCESS_KEY", KEY)
        yield found


@pytest.fixture
def uri(address: str, request: pytest.FixtureRequest) -> str:
    where = f"blob_storage_authority={address}&dfs_storage_authority={address}&enable_tls=false"
    folder = request.node.name.replace("[", "-").replace("]", "")
    return f"abfss://{CONTAINER}@{ACCOUNT}.dfs.core.windows.net/{folder}?{where}"


def publish(client: pulsar.Client, topic: str) -> None:
    producer = client.create_producer(topic)
    for number in range(20):
        producer.send_async(f"v{number}".encode(), None, partition_key=f"k{number % 5}")
    producer.flush()
    producer.close()


def done(outcome: Outcome) -> None:
    assert outcome.exit_code == 0, outcome.stderr


def test_exports_grow_and_are_imported(uri: str, client: pulsar.Client, cli: Cli, topic: str) -> None:
    for _ in range(2):  # the second run replaces the state file
        publish(client, topic)
        done(cli("ops", "export", topic, uri, "--incremental"))
    found = manifest.load(place_at(uri))
    assert found is not None
    assert (found.rows, found.runs) == (40, 2)
    assert place_at(uri).names() == sorted([manifest.NAME, *(each.path for each in found.files)])
    done(cli("ops", "verify", "--export", uri))
    done(cli("ops", "import", uri, f"{topic}-copy"))
    assert by_key(client, f"{topic}-copy") == by_key(client, topic)


def test_an_export_is_overwritten(uri: str, client: pulsar.Client, cli: Cli, topic: str) -> None:
    publish(client, topic)
    done(cli("ops", "export", topic, uri, "--by", "key", "--key-groups", "3"))
    done(cli("ops", "export", topic, uri, "--overwrite"))
    assert len(place_at(uri).names()) == 2


def test_a_wrong_key_is_an_error_of_one_line(
    uri: str, client: pulsar.Client, cli: Cli, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCESS_KEY", "d3Jvbmc=")
    publish(client, topic)
    outcome = cli("ops", "export", topic, f"{uri}&background_writes=true")  # not the URI of a test before
    assert (outcome.exit_code, outcome.stderr.startswith("error: cannot export to abfss://")) == (1, True)


def signature() -> str:
    """A shared access signature of the account, for everything."""
    fields = {"sv": "2019-12-12", "ss": "b", "srt": "sco", "sp": "rwdlac", "se": "2099-01-01T00:00:00Z"}
    signed = (ACCOUNT, fields["sp"], fields["ss"], fields["srt"], "", fields["se"], "", "", fields["sv"], "")
    digest = hmac.digest(base64.b64decode(KEY), "\n".join(signed).encode(), "sha256")
    return urlencode({**fields, "sig": base64.b64encode(digest).decode()})


@pytest.mark.parametrize("before", ["", "?"], ids=["bare", "query"])
def test_a_signature_is_enough_for_an_export_and_its_import(
    uri: str, client: pulsar.Client, cli: Cli, topic: str, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    for name in AZURE_KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", f"{before}{signature()}")
    publish(client, topic)
    done(cli("ops", "export", topic, uri))
    done(cli("ops", "import", uri, f"{topic}-copy"))
    assert by_key(client, f"{topic}-copy") == by_key(client, topic)


def test_offloaded_ledgers_are_read_verified_and_removed(address: str, tmp_path: Path) -> None:
    config = OffloadConfig(
        driver="azureblob",
        bucket=f"{CONTAINER}/tier",
        endpoint=f"http://{address}",
        deletion_lag_ms=-1,
        sweep_seconds=0.1,
    )
    with offloaded_topic(config, tmp_path / "d") as one:
        before = one.publish_and_offload(30)
        assert one.entries() == before
        assert one.read(30) == values(30)
        audit = one.rest("POST", "/brokers/offload/audit")
        assert (audit["missing"], audit["orphans"]) == ([], [])
        copy = one.log().ledger_infos()[0].copy
        assert copy is not None
        store = one.broker.broker.tier.store_of(copy)
        path = store.key(copy.path)
        assert store.filesystem.get_file_info(path).is_file
        one.acknowledge_all()
        one.rest("POST", "trim")
        wait_until(lambda: not store.filesystem.get_file_info(path).is_file, 30)


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({}, {}),
        ({"AZURE_STORAGE_KEY": "k"}, {"account_key": "k"}),
        ({"AZURE_STORAGE_ACCESS_KEY": "a", "AZURE_STORAGE_SAS_TOKEN": "s"}, {"account_key": "a"}),
        ({"AZURE_STORAGE_SAS_TOKEN": "s"}, {"sas_token": "?s"}),
        ({"AZURE_STORAGE_SAS_TOKEN": "?s\n"}, {"sas_token": "?s"}),
    ],
)
def test_the_secret_of_an_account_is_in_the_environment(environ: dict[str, str], found: dict[str, str]) -> None:
    assert azure_secret(environ) == found


def test_the_uri_names_the_account_and_its_scheme() -> None:
    assert azure_options("abfss://box@acme.dfs.core.windows.net/x") == {
        "account_name": "acme",
        "blob_storage_scheme": "https",
        "dfs_storage_scheme": "https",
    }
