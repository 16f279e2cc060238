"""`ops lake` with the REST catalog server of Apache Iceberg."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pulsar
import pytest

pytest.importorskip("pyiceberg")

from pyiceberg.catalog import load_catalog
from pyiceberg.table import Table

from tests.cli.iceberg.java_rest_catalog import java_rest_catalog
from tests.cli.iceberg.sales import Sale, SaleWithCity, publish
from tests.long.real_pulsar.java_pulsar import Missing
from tests.support.condition import wait_until
from tests.support.fault_proxy import FaultProxy
from tests.support.runner import Cli, Outcome

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Skips with a reason without Maven or Java."""
    running = java_rest_catalog(tmp_path_factory.mktemp("rest-catalog"))
    try:
        url = running.__enter__()
    except Missing as reason:
        pytest.skip(str(reason))
    yield url
    running.__exit__(None, None, None)


def done(outcome: Outcome) -> str:
    assert outcome.exit_code == 0, outcome.stderr
    return outcome.stdout


def table(catalog: str, name: str) -> Table:
    return load_catalog("pulsarctl", type="rest", uri=catalog).load_table(f"public_default.{name}")


def test_the_table_grows_with_its_schema_and_is_maintained(catalog: str, client: pulsar.Client, cli: Cli) -> None:
    topic = "persistent://public/default/at-apache"
    client.subscribe(topic, "keeps").close()
    for record in (Sale, SaleWithCity):
        publish(client, topic, [record(number=number, amount=1.5) for number in range(20)])
        assert '"rows": 20' in done(cli("ops", "lake", topic, "--catalog", catalog, "-o", "json"))
    assert '"rows": 0' in done(cli("ops", "lake", topic, "--catalog", catalog, "-o", "json"))
    done(cli("ops", "lake-maintain", topic, "--catalog", catalog, "--keep", "0s"))
    found = table(catalog, "at_x2D_apache")
    rows = found.scan().to_arrow()
    assert (len(list(found.scan().plan_files())), len(found.snapshots())) == (1, 1)
    assert rows.num_rows == len(set(rows.column("message_id").to_pylist())) == 40
    assert sum(rows.column("value").combine_chunks().field("amount").to_pylist()) == 60


def test_a_run_that_another_writer_overtakes_adds_what_is_left(catalog: str, client: pulsar.Client, cli: Cli) -> None:
    topic = "persistent://public/default/overtaken"
    client.subscribe(topic, "keeps").close()
    publish(client, topic, [Sale(number=number, amount=1.0) for number in range(5)])
    done(cli("ops", "lake", topic, "--catalog", catalog))
    publish(client, topic, [Sale(number=number, amount=1.0) for number in range(5)])
    other = table(catalog, "overtaken")
    with FaultProxy(catalog) as relay, ThreadPoolExecutor(1) as pool:

        def overtake() -> None:
            wait_until(relay.held.is_set, 60)
            with other.transaction() as transaction, transaction.update_snapshot().fast_append():
                pass  # a snapshot without rows is in the way, too
            relay.release()

        with relay.doing("hold", lambda request: request.method == "POST" and request.path.endswith("/overtaken")):
            overtaking = pool.submit(overtake)
            assert '"rows": 5' in done(cli("ops", "lake", topic, "--catalog", relay.url, "-o", "json"))
            overtaking.result(60)
        commits = [request for request in relay.requests if request.method == "POST"]
    assert len(commits) == 2  # the server refused the first one
    assert table(catalog, "overtaken").scan().count() == 10
