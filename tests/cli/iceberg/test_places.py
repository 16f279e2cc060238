"""`ops lake` with its files in S3, and with a REST catalog."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest

pytest.importorskip("pyiceberg")

import pyiceberg.catalog
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import UnauthorizedError

from tests.cli.iceberg.rest_catalog import RestCatalog
from tests.cli.iceberg.sales import Sale, SaleWithCity, publish
from tests.support.export_buckets import BUCKET, S3, s3_server
from tests.support.runner import Cli, Outcome


@pytest.fixture(scope="module")
def s3() -> Iterator[S3]:
    with pytest.MonkeyPatch.context() as patch, s3_server(patch) as found:
        yield found


def done(outcome: Outcome) -> str:
    assert outcome.exit_code == 0, outcome.stderr
    return outcome.stdout


def test_a_lake_in_a_bucket_grows_and_is_maintained(s3: S3, client: pulsar.Client, cli: Cli, tmp_path: Path) -> None:
    topic = "persistent://public/default/in-a-bucket"
    client.subscribe(topic, "keeps").close()
    catalog = f"sqlite:///{tmp_path / 'catalog.sqlite'}"
    where = ("--to", s3.uri("lake"), "--catalog", catalog)
    for record in (Sale, SaleWithCity):
        publish(client, topic, [record(number=number, amount=1.5) for number in range(20)])
        done(cli("ops", "lake", topic, *where))
    done(cli("ops", "lake-maintain", topic, *where, "--keep", "0s"))
    s3_properties = {"s3.endpoint": s3.proxy.url, "s3.region": "us-east-1"}
    name = "in_x2D_a_x2D_bucket"
    table = load_catalog("pulsarctl", type="sql", uri=catalog, **s3_properties).load_table(f"public_default.{name}")
    assert table.location() == f"s3://{BUCKET}/lake/public_default/{name}"
    assert len(list(table.scan().plan_files())) == 1
    rows = table.scan().to_arrow()
    assert rows.num_rows == len(set(rows.column("message_id").to_pylist())) == 40
    assert sum(rows.column("value").combine_chunks().field("amount").to_pylist()) == 60


def test_a_store_that_refuses_an_upload_leaves_the_table_as_it_was(
    s3: S3, client: pulsar.Client, cli: Cli, tmp_path: Path
) -> None:
    topic = "persistent://public/default/refused"
    client.subscribe(topic, "keeps").close()
    publish(client, topic, [Sale(number=number, amount=1.0) for number in range(5)])
    where = ("--to", s3.uri("refused"), "--catalog", f"sqlite:///{tmp_path / 'catalog.sqlite'}")
    with s3.proxy.doing("refuse", lambda request: request.method in ("PUT", "POST")):
        outcome = cli("ops", "lake", topic, *where)
    assert (outcome.exit_code, "the key was revoked" in outcome.stderr) == (1, True)
    assert '"rows": 5' in done(cli("ops", "lake", topic, *where, "-o", "json"))


def test_a_rest_catalog_decides_where_the_table_is(client: pulsar.Client, cli: Cli, tmp_path: Path) -> None:
    topic = "persistent://public/default/at-rest"
    client.subscribe(topic, "keeps").close()
    with RestCatalog(tmp_path / "lake") as catalog:
        for record in (Sale, SaleWithCity):
            publish(client, topic, [record(number=number, amount=1.5) for number in range(20)])
            done(cli("ops", "lake", topic, "--catalog", catalog.url))
        assert '"rows": 0' in done(cli("ops", "lake", topic, "--catalog", catalog.url, "-o", "json"))
        done(cli("ops", "lake-maintain", topic, "--catalog", catalog.url, "--keep", "0s"))
        table = load_catalog("pulsarctl", type="rest", uri=catalog.url).load_table("public_default.at_x2D_rest")
        rows = table.scan().to_arrow()
    assert table.location().startswith(f"file://{tmp_path}/lake/")
    assert rows.num_rows == len(set(rows.column("message_id").to_pylist())) == 40


def test_a_run_that_a_rest_catalog_sees_overtaken_adds_what_is_left(
    client: pulsar.Client, cli: Cli, tmp_path: Path
) -> None:
    topic = "persistent://public/default/raced"
    client.subscribe(topic, "keeps").close()
    with RestCatalog(tmp_path / "lake") as catalog:
        publish(client, topic, [Sale(number=number, amount=1.0) for number in range(5)])
        done(cli("ops", "lake", topic, "--catalog", catalog.url))
        publish(client, topic, [Sale(number=number, amount=1.0) for number in range(5)])
        catalog.conflicts = 2  # as if others had committed
        assert '"rows": 5' in done(cli("ops", "lake", topic, "--catalog", catalog.url, "-o", "json"))
        table = load_catalog("pulsarctl", type="rest", uri=catalog.url).load_table("public_default.raced")
        assert table.scan().count() == 10
    assert catalog.conflicts == 0


@pytest.mark.parametrize("verb", ["lake", "lake-maintain"])
def test_a_catalog_that_refuses_a_request_is_an_error_of_one_line(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    def refuses(*_: object, **__: object) -> None:
        raise UnauthorizedError("NotAuthorizedException:\n the token is not valid")

    monkeypatch.setattr(pyiceberg.catalog, "load_catalog", refuses)
    ended = cli("ops", verb, "orders", "--catalog", "http://127.0.0.1:9")
    text = "error: cannot use the Iceberg table: NotAuthorizedException: the token is not valid\n"
    assert (ended.exit_code, ended.stderr) == (1, text)


@pytest.mark.parametrize("verb", ["lake", "lake-maintain"])
def test_without_pyarrow_one_line_says_what_to_install(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, verb: str
) -> None:
    for module in [name for name in sys.modules if name.startswith("pulsarctl.iceberg.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    ended = cli("ops", verb, "orders", "--to", str(tmp_path / "lake"))
    assert (ended.exit_code, ended.stderr.splitlines()) == (
        1,
        [
            "error: cannot use Iceberg tables: pyarrow is not installed",
            "hint: run: pip install 'pulsarctl[iceberg]'",
        ],
    )
