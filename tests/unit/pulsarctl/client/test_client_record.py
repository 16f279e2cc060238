"""Messages of the official client as records."""

import _pulsar
import pulsar
import pytest

from pulsarctl.client.client_record import ClientRecord


@pytest.mark.parametrize(("key", "pair_key"), [("AAAABw==", b"\0\0\0\7"), ("order 7", b"order 7")])
def test_the_key_of_a_pair_is_decoded_if_it_is_base64(key: str, pair_key: bytes) -> None:
    message = pulsar.Message._wrap(_pulsar.MessageBuilder().content(b"").partition_key(key).build())
    assert ClientRecord(message).pair_key == pair_key
    assert ClientRecord(message).key == key.encode()
