"""The commands of transactions for a `RawClient`."""

from typing import Any

from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import send


def ask(client: RawClient, kind: BaseCommand.Type.ValueType, **fields: Any) -> Any:
    """Sends a command of transactions and returns its answer."""
    command = BaseCommand(type=kind)
    part = getattr(command, BaseCommand.DESCRIPTOR.fields_by_number[kind].name)
    part.request_id = 1
    for name, value in fields.items():
        setattr(part, name, value)
    client.send(frame(command))
    return client.expect_any()


def begin(client: RawClient, ttl_ms: int = 60_000) -> dict[str, int]:
    """Begins a transaction; returns the fields that name it."""
    answer = ask(client, BaseCommand.NEW_TXN, tc_id=0, txn_ttl_millis=ttl_ms)
    assert not answer.HasField("error"), answer
    return {"txnid_most_bits": answer.txnid_most_bits, "txnid_least_bits": answer.txnid_least_bits}


def end(client: RawClient, transaction: dict[str, int], *, commit: bool) -> Any:
    """Returns the answer to END_TXN, which may be an error."""
    return ask(client, BaseCommand.END_TXN, txn_action=pb.COMMIT if commit else pb.ABORT, **transaction)


def publish(client: RawClient, sequence_id: int, payload: bytes, transaction: dict[str, int] | None = None) -> Any:
    """Publishes through producer 1; returns the answer, a SEND_RECEIPT or a SEND_ERROR."""
    named = transaction or {}
    fields: dict[str, Any] = dict(named)
    client.send(send(sequence_id, payload, metadata=fields, **fields))
    return client.expect_any()
