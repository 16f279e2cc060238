"""Lakes and incremental exports that continue after the topic or its cluster was created again."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from broker_core.names import parse_topic
from broker_core.storage.managed_ledger.managed_ledger import ManagedLedger
from broker_core.testing import EmbeddedBroker
from pulsarctl.admin.client import AdminClient
from pulsarctl.iceberg.lake_place import LakePlace
from pulsarctl.iceberg.progress import CREATED
from pulsarctl.iceberg.topic_lake import TopicLake
from pulsarctl.settings.settings import Settings
from pulsarctl.transfer.manifest import NAME
from tests.cli.transfer.moved_topics import Continued, export, failed, lake, rows
from tests.support.managed_ledgers import managed_ledger
from tests.support.official_client import connect


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(tmp_path_factory.mktemp("first")) as broker:
        yield broker


@pytest.fixture(scope="module")
def wiped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """The cluster after its data was wiped: ledger IDs start over."""
    with EmbeddedBroker(tmp_path_factory.mktemp("wiped")) as broker:
        yield broker


def publish(broker: EmbeddedBroker, topic: str, count: int) -> None:
    with closing(connect(broker.service_url)) as client:
        client.subscribe(topic, "keeps").close()
        producer = client.create_producer(topic, batching_enabled=False)
        for number in range(count):
            producer.send(b"%d" % number)


def get_ahead(broker: EmbeddedBroker, other: EmbeddedBroker, topic: str) -> None:
    """The last message is in a ledger with a larger ID than all ledgers of the topic in the other broker."""
    publish(broker, topic, 1)
    while last_ledger(broker, topic) <= last_ledger(other, topic):
        broker.call(log_of(broker, topic).roll())
        publish(broker, topic, 1)


def last_ledger(broker: EmbeddedBroker, topic: str) -> int:
    return max(info.id for info in log_of(broker, topic).ledger_infos())


def log_of(broker: EmbeddedBroker, topic: str) -> ManagedLedger:
    return managed_ledger(broker.call(broker.broker.topics.get(parse_topic(topic))))


def forget_times(topic: str, place: Path) -> None:
    """As a version wrote it that did not keep them."""
    if (state := place / NAME).exists():
        known = json.loads(state.read_text())
        del known["created"]
        state.write_text(json.dumps(known))
        return
    table = TopicLake(LakePlace.of(str(place), "")).table(topic)
    assert table is not None
    with table.transaction() as transaction:
        transaction.remove_properties(CREATED)


def refuses(broker: EmbeddedBroker, *command: object) -> None:
    code, text = failed(broker, *command)
    assert (code, "was created again or restored" in text) == (6, True), text


@pytest.mark.parametrize("continued", [lake, export])
def test_a_wiped_cluster_with_fewer_messages_is_refused(
    first: EmbeddedBroker, wiped: EmbeddedBroker, topic: str, tmp_path: Path, continued: Continued
) -> None:
    publish(wiped, topic, 1)
    get_ahead(first, wiped, topic)
    assert rows(first, *continued(topic, tmp_path / "out"))
    refuses(wiped, *continued(topic, tmp_path / "out"))
    forget_times(topic, tmp_path / "out")
    refuses(wiped, *continued(topic, tmp_path / "out"))


@pytest.mark.parametrize("continued", [lake, export])
def test_a_wiped_cluster_with_more_messages_is_refused(
    first: EmbeddedBroker, wiped: EmbeddedBroker, topic: str, tmp_path: Path, continued: Continued
) -> None:
    publish(wiped, topic, 1)
    get_ahead(first, wiped, topic)
    assert rows(first, *continued(topic, tmp_path / "out"))
    get_ahead(wiped, first, topic)
    refuses(wiped, *continued(topic, tmp_path / "out"))


@pytest.mark.parametrize("continued", [lake, export])
def test_a_topic_that_is_created_again_on_its_cluster_is_continued_without_what_may_be_lost(
    first: EmbeddedBroker, topic: str, tmp_path: Path, continued: Continued
) -> None:
    publish(first, topic, 5)
    assert rows(first, *continued(topic, tmp_path / "out")) == 5
    with closing(AdminClient(Settings(web_url=first.http_url))) as admin:
        admin.topics.delete(topic, force=True)
    publish(first, topic, 2)
    code, text = failed(first, *continued(topic, tmp_path / "out"))
    assert (code, f"of {topic} is gone" in text) == (1, True), text
    assert rows(first, *continued(topic, tmp_path / "out"), "--allow-loss") == 2
    assert rows(first, *continued(topic, tmp_path / "out")) == 0
