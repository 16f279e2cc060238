"""A token that expires while raw entries are read."""

from pathlib import Path

import pytest

from broker_core.testing import EmbeddedBroker
from pulsarctl.errors import NotAuthorized
from pulsarctl.raw.entry_reader import LATEST, EntryReader
from pulsarctl.settings.client_security import ClientSecurity
from tests.support.authority import Authority
from tests.support.secured import PLAIN, connect, expiring_token, token


def expiring(folder: Path, authority: Authority) -> ClientSecurity:
    file = folder / "expiring"
    file.write_text(expiring_token("consumer"))
    return ClientSecurity(token_file=str(file), tls_trust_cert_path=str(authority.file))


def test_the_broker_gets_the_token_that_the_file_has_by_then(
    broker: EmbeddedBroker, authority: Authority, tmp_path: Path
) -> None:
    security = expiring(tmp_path, authority)
    with EntryReader(broker.broker.service_url_tls, PLAIN, start=LATEST, security=security) as reader:
        first = set(broker.broker.connections)
        Path(str(security.token_file)).write_text(token("consumer"))
        assert reader.read(timeout_seconds=3) is None
        assert set(broker.broker.connections) == first
        producing = connect(broker, "producer")
        producing.create_producer(PLAIN).send(b"late")
        producing.close()
        entry = reader.read(timeout_seconds=5)
        assert entry is not None and [message.value for message in entry.messages()] == [b"late"]


def test_an_expired_token_that_is_not_replaced_is_an_authentication_error(
    broker: EmbeddedBroker, authority: Authority, tmp_path: Path
) -> None:
    url, security = broker.broker.service_url_tls, expiring(tmp_path, authority)
    with (
        pytest.raises(NotAuthorized, match="does not accept the credentials"),  # also if it takes long to connect
        EntryReader(url, PLAIN, start=LATEST, security=security) as reader,
    ):
        reader.read(timeout_seconds=10)
