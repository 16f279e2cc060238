"""The requests about transactions: what is open, and a way to abort it."""

import re

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import TransactionConfig
from broker_core.names import parse_topic
from broker_core.storage.records.held_acks import WHOLE, AckedUpTo, TransactionAcks
from broker_core.testing import FREE_PORTS
from broker_core.wire.send import SendRun
from broker_core.wire.transaction_id import TransactionId
from tests.broker.admin.conftest import Admin

TOPIC = "persistent://public/default/t"
ROOT = "/admin/v3/transactions"


@pytest.fixture
def config() -> BrokerConfig:
    return BrokerConfig(server=FREE_PORTS, transactions=TransactionConfig(enabled=True))


async def begun(admin: Admin) -> TransactionId:
    assert admin.broker.transactions is not None
    return await admin.broker.transactions.begin(0, 60_000, "")


async def open_transaction(admin: Admin) -> TransactionId:
    """A transaction with one message on the topic."""
    transaction = await begun(admin)
    topic = await admin.broker.topics.get(parse_topic(TOPIC), create=True)
    run = SendRun(1, b"x", [0], [1], [b""], [1], [1])
    run.transaction = transaction
    topic.publish_in_transaction(run, lambda first, error: None)
    return transaction


async def test_an_open_transaction_is_shown_with_its_topics(admin: Admin) -> None:
    transaction = await open_transaction(admin)
    at = f"{transaction.most}/{transaction.least}"
    metadata = (await admin("GET", f"{ROOT}/transactionMetadata/{at}")).json
    assert (metadata["txnId"], metadata["status"], metadata["timeoutAt"]) == (str(transaction), "OPEN", 60_000)
    first = metadata["producedPartitions"][TOPIC]
    assert not first["aborted"]
    assert (await admin("GET", f"{ROOT}/transactionInBufferStats/public/default/t/{at}")).json == first
    stats = (await admin("GET", f"{ROOT}/transactionBufferStats/public/default/t")).json
    assert (stats["state"], stats["ongoingTxnSize"]) == ("Ready", 1)


async def test_an_operator_aborts_a_transaction_once(admin: Admin) -> None:
    transaction = await open_transaction(admin)
    path = f"{ROOT}/abortTransaction/{transaction.most}/{transaction.least}"
    assert (await admin("POST", path)).status == 204
    assert (await admin("POST", path)).status == 404
    stats = (await admin("GET", f"{ROOT}/transactionBufferStats/public/default/t")).json
    assert (stats["ongoingTxnSize"], stats["totalAbortedTransactions"]) == (0, 1)


async def test_slow_transactions_are_those_that_have_been_open_for_longer(admin: Admin) -> None:
    transaction = await begun(admin)
    assert list((await admin("GET", f"{ROOT}/slowTransactions/600000")).json) == []
    assert list((await admin("GET", f"{ROOT}/slowTransactions/0")).json) == [str(transaction)]


async def test_the_coordinator_is_listed_with_its_transactions(admin: Admin) -> None:
    transaction = await begun(admin)
    assert [one["id"] for one in (await admin("GET", f"{ROOT}/coordinators")).json] == [0]
    stats = (await admin("GET", f"{ROOT}/coordinatorStats?coordinatorId=0")).json
    assert (stats["leastSigBits"], stats["ongoingTxnSize"]) == (transaction.least, 1)
    assert (await admin("GET", f"{ROOT}/coordinatorStats")).json == {"0": stats}
    assert (await admin("GET", f"{ROOT}/coordinatorStats?coordinatorId=7")).status == 404


async def test_what_a_transaction_acknowledges_is_shown(admin: Admin) -> None:
    transaction = await open_transaction(admin)
    coordinator = admin.broker.transactions
    assert coordinator is not None
    topic = await admin.broker.topics.get(parse_topic(TOPIC))
    subscription = await topic.subscriptions.open("s", durable=True, start=None, earliest=True, properties={})
    first = topic.ledger.first_position
    single, up_to = TransactionAcks(), TransactionAcks()
    single.add(*first, WHOLE)
    up_to.cumulative = AckedUpTo(first)
    at, of_subscription = f"{transaction.most}/{transaction.least}", "public/default/t/s"
    position = f"{ROOT}/positionStatsInPendingAck/{of_subscription}/{first.ledger_id}"
    assert (await admin("GET", f"{position}/{first.entry_id}")).json == {"state": "NotInPendingAck"}
    for acks in (single, up_to):
        coordinator.hold(transaction, subscription.cursor, acks, lambda error: None)
    assert (await admin("GET", f"{position}/{first.entry_id}")).json == {"state": "PendingAck"}
    assert (await admin("GET", f"{position}/{first.entry_id}?batchIndex=0")).json == {"state": "PendingAck"}
    assert (await admin("GET", f"{position}/77")).json == {"state": "InvalidPosition"}
    held = (await admin("GET", f"{ROOT}/transactionInPendingAckStats/{of_subscription}/{at}")).json
    assert held == {"cumulativeAckPosition": str(first)}
    metadata = (await admin("GET", f"{ROOT}/transactionMetadata/{at}")).json
    assert metadata["ackedPartitions"] == {TOPIC: {"s": held}}
    stats = (await admin("GET", f"{ROOT}/pendingAckStats/{of_subscription}?lowWaterMarks=true")).json
    assert (stats["state"], stats["ongoingTxnSize"], stats["lowWaterMarks"]) == (
        "Ready",
        1,
        {"0": transaction.least - 1},
    )
    await coordinator.abort(transaction)
    assert (await admin("GET", f"{ROOT}/transactionInPendingAckStats/{of_subscription}/{at}")).json == {}
    assert (await admin("GET", f"{ROOT}/pendingAckStats/public/default/t/none")).status == 404


async def test_metrics_count_the_transactions_of_the_coordinator_and_of_a_topic(admin: Admin) -> None:
    committed, aborted = await open_transaction(admin), await open_transaction(admin)
    await begun(admin)
    coordinator = admin.broker.transactions
    assert coordinator is not None
    await coordinator.end(committed, "", commit=True)
    await coordinator.abort(aborted)
    text = (await admin("GET", "/metrics")).text
    counts = 'cluster="standalone",coordinator_id="0"'
    for name, value in (("active_count", 1), ("created_total", 3), ("committed_total", 1), ("aborted_total", 1)):
        assert f"pulsar_txn_{name}{{{counts}}} {value}\n" in text
    latency = re.findall(r"^pulsar_txn_execution_latency_le_\w+\{.*\} (\d+)", text, re.MULTILINE)
    assert (len(latency), sum(map(int, latency))) == (14, 1)
    of_topic = f'cluster="standalone",namespace="public/default",topic="{TOPIC}"'
    for name, value in (("active", 0), ("committed", 1), ("aborted", 1)):
        assert f"pulsar_txn_tb_{name}_total{{{of_topic}}} {value}\n" in text


async def test_a_transaction_that_was_aborted_says_so(admin: Admin) -> None:
    transaction = await open_transaction(admin)
    assert admin.broker.transactions is not None
    await admin.broker.transactions.abort(transaction)
    path = f"{ROOT}/transactionInBufferStats/public/default/t/{transaction.most}/{transaction.least}"
    assert (await admin("GET", path)).json == {"aborted": True}


@pytest.mark.parametrize(
    "path",
    [
        "coordinatorInternalStats/0",
        "transactionBufferInternalStats/public/default/t",
        "pendingAckInternalStats/public/default/t/s",
    ],
)
async def test_there_are_no_ledgers_of_transactions(admin: Admin, path: str) -> None:
    answer = await admin("GET", f"{ROOT}/{path}")
    assert (answer.status, "journal" in answer.json["reason"]) == (405, True)


@pytest.mark.parametrize("replicas", [1, 2])
async def test_there_is_one_coordinator(admin: Admin, replicas: int) -> None:
    assert (await admin("POST", f"{ROOT}/transactionCoordinator/replicas", replicas)).status == 406


async def test_clients_with_a_service_url_of_http_find_the_coordinator(admin: Admin) -> None:
    name = "persistent/pulsar/system/transaction_coordinator_assign"
    assert (await admin("GET", f"/admin/v2/{name}/partitions")).json == {"partitions": 1}
    assert (await admin("GET", f"/lookup/v2/topic/{name}-partition-0")).json["brokerUrl"] == admin.broker.service_url
