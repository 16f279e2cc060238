"""End-to-end encryption with the official client; the broker treats an encrypted payload like any other."""

from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest

from broker_core.names import parse_topic
from broker_core.testing import EmbeddedBroker
from tests.clients.conftest import TIMEOUT_MS

pytestmark = pytest.mark.feature("publishing")

KEYS = Path(__file__).parent / "keys"  # made for these tests only
READER = pulsar.CryptoKeyReader(str(KEYS / "public.pem"), str(KEYS / "private.pem"))
NAMESPACE = parse_topic("persistent://public/sealed/t").namespace


@pytest.fixture
def sealed_topic(pulsar_broker: EmbeddedBroker, request: pytest.FixtureRequest) -> Iterator[str]:
    """A topic in a namespace that requires encryption."""
    tenancy = pulsar_broker.broker.tenancy
    if not tenancy.has_namespace(NAMESPACE):
        pulsar_broker.call(tenancy.create_namespace(NAMESPACE))
    pulsar_broker.call(tenancy.set_namespace_policies(NAMESPACE, encryption_required=True))
    yield f"persistent://{NAMESPACE}/{request.node.name}"


def encrypting(client: pulsar.Client, topic: str, **options: object) -> pulsar.Producer:
    return client.create_producer(topic, encryption_key="key", crypto_key_reader=READER, **options)


@pytest.mark.parametrize("batching", [False, True], ids=["single", "batched"])
def test_encrypted_messages_are_decrypted(client: pulsar.Client, topic: str, batching: bool) -> None:
    consumer = client.subscribe(topic, "s", crypto_key_reader=READER)
    producer = encrypting(client, topic, batching_enabled=batching)
    for number in range(10):
        producer.send_async(b"%d" % number, lambda result, message_id: None)
    producer.flush()
    assert [consumer.receive(timeout_millis=TIMEOUT_MS).data() for _ in range(10)] == [b"%d" % n for n in range(10)]


def test_without_the_key_messages_are_not_decrypted(client: pulsar.Client, topic: str) -> None:
    action = pulsar.ConsumerCryptoFailureAction.CONSUME
    consumer = client.subscribe(topic, "s", crypto_failure_action=action)
    encrypting(client, topic).send(b"secret")
    assert b"secret" not in consumer.receive(timeout_millis=TIMEOUT_MS).data()


def test_with_required_encryption_encrypted_messages_are_accepted(client: pulsar.Client, sealed_topic: str) -> None:
    consumer = client.subscribe(sealed_topic, "s", crypto_key_reader=READER)
    encrypting(client, sealed_topic).send(b"secret")
    assert consumer.receive(timeout_millis=TIMEOUT_MS).data() == b"secret"


def test_with_required_encryption_a_plain_producer_is_refused(pulsar_broker: EmbeddedBroker, sealed_topic: str) -> None:
    # The client treats this error as temporary and retries until it times out.
    quiet = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    impatient = pulsar.Client(pulsar_broker.service_url, operation_timeout_seconds=1, logger=quiet)
    with pytest.raises(pulsar.PulsarException):
        impatient.create_producer(sealed_topic)
    impatient.close()
