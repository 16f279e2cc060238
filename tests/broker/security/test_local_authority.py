"""The broker's own authority: what it makes, when it replaces it, and that strict clients accept it."""

from __future__ import annotations

import dataclasses
import socket
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509

from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ServerConfig
from broker_core.config.tls import TlsConfig
from broker_core.errors import InvalidConfiguration
from broker_core.security.local_authority import CERTIFICATE_DAYS, RENEWAL_DAYS, LocalAuthority
from broker_core.server.local_certificates import local_certificates
from broker_core.testing import EmbeddedBroker
from tests.support.clocks import ShiftedClock

DAY_MS = 86_400_000
FILES = {"ca.pem", "ca.key", "server.pem", "server.key", "client.pem", "client.key"}


@pytest.fixture
def clock() -> ShiftedClock:
    return ShiftedClock()


def authority(folder: Path, clock: ShiftedClock, *hosts: str) -> LocalAuthority:
    made = LocalAuthority(folder / "tls", clock, hosts or ("localhost", "127.0.0.1"))
    made.renew()
    return made


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (folder / "tls").iterdir()}


def changed(folder: Path, before: dict[str, bytes]) -> set[str]:
    return {name for name, content in contents(folder).items() if content != before[name]}


def test_everything_that_is_made_belongs_to_its_owner_only(tmp_path: Path, clock: ShiftedClock) -> None:
    authority(tmp_path, clock)
    assert stat.S_IMODE((tmp_path / "tls").stat().st_mode) == 0o700
    assert {file.name: stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "tls").iterdir()} == dict.fromkeys(
        FILES, 0o600
    )


def test_nothing_changes_while_the_certificates_are_valid(tmp_path: Path, clock: ShiftedClock) -> None:
    made = authority(tmp_path, clock)
    before = contents(tmp_path)
    clock.jump_ms += (CERTIFICATE_DAYS - RENEWAL_DAYS - 1) * DAY_MS
    made.renew()
    assert changed(tmp_path, before) == set()


def test_certificates_are_replaced_before_they_expire_and_keep_their_keys(tmp_path: Path, clock: ShiftedClock) -> None:
    made = authority(tmp_path, clock)
    before = contents(tmp_path)
    clock.jump_ms += (CERTIFICATE_DAYS - RENEWAL_DAYS + 1) * DAY_MS
    made.renew()
    assert changed(tmp_path, before) == {"server.pem", "client.pem"}


def test_a_certificate_from_a_clock_that_was_ahead_is_replaced(tmp_path: Path, clock: ShiftedClock) -> None:
    made = authority(tmp_path, clock)
    before = contents(tmp_path)
    clock.jump_ms += -30 * DAY_MS
    made.renew()
    assert changed(tmp_path, before) == {"ca.pem", "server.pem", "client.pem"}


def test_the_authority_is_replaced_before_it_cannot_sign_any_more(tmp_path: Path, clock: ShiftedClock) -> None:
    made = authority(tmp_path, clock)
    before = contents(tmp_path)
    clock.jump_ms += 3650 * DAY_MS - 60 * DAY_MS
    made.renew()
    assert changed(tmp_path, before) == {"ca.pem", "server.pem", "client.pem"}


def test_another_address_gets_another_certificate_of_the_same_authority(tmp_path: Path, clock: ShiftedClock) -> None:
    authority(tmp_path, clock)
    before = contents(tmp_path)
    authority(tmp_path, clock, "pulsar.example")
    assert changed(tmp_path, before) == {"server.pem"}
    certificate = x509.load_pem_x509_certificate((tmp_path / "tls" / "server.pem").read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["pulsar.example"]


@pytest.mark.parametrize("name", ["server.pem", "client.key", "server.key"])
def test_a_deleted_file_is_made_again(tmp_path: Path, clock: ShiftedClock, name: str) -> None:
    made = authority(tmp_path, clock)
    (tmp_path / "tls" / name).unlink()
    made.renew()
    assert set(contents(tmp_path)) == FILES
    for kind in ("server", "client"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tmp_path / "tls" / f"{kind}.pem", tmp_path / "tls" / f"{kind}.key")


@pytest.mark.parametrize("name", ["ca.pem", "ca.key", "server.key"])
def test_a_damaged_file_is_reported_and_not_replaced(tmp_path: Path, clock: ShiftedClock, name: str) -> None:
    made = authority(tmp_path, clock)
    (tmp_path / "tls" / name).write_text("damaged")
    with pytest.raises(InvalidConfiguration, match=rf"cannot use .*{name}: .*; delete .*tls for a new local authority"):
        made.renew()
    assert (tmp_path / "tls" / name).read_text() == "damaged"


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    tls = TlsConfig(broker_port=0, web_port=0, local_authority=True, require_client_certificate=True)
    with EmbeddedBroker(config=BrokerConfig(server=ServerConfig(broker_port=0, web_port=0), tls=tls)) as found:
        yield found


def strict(folder: Path) -> ssl.SSLContext:
    """What Python 3.13 requires of certificates by default."""
    context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
    context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_cert_chain(folder / "client.pem", folder / "client.key")
    return context


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_strict_client_with_the_certificate_of_the_authority_connects(broker: EmbeddedBroker, host: str) -> None:
    port = int(broker.broker.service_url_tls.rpartition(":")[2])
    context = strict(broker.directory / "tls")
    with (
        socket.create_connection(("127.0.0.1", port), 10) as plain,
        context.wrap_socket(plain, server_hostname=host) as secured,
    ):
        assert secured.version() == "TLSv1.3"


def test_new_connections_get_a_renewed_certificate(tmp_path: Path, clock: ShiftedClock) -> None:
    tls = TlsConfig(broker_port=0, local_authority=True)
    certificates = local_certificates(BrokerConfig(tls=tls), tmp_path, clock)
    before = served(certificates.context, tmp_path)
    clock.jump_ms += (CERTIFICATE_DAYS - RENEWAL_DAYS + 1) * DAY_MS
    certificates.renew()
    assert served(certificates.context, tmp_path) != before


def served(context: ssl.SSLContext, folder: Path) -> bytes | None:
    """The certificate that a client gets, without sockets."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server, server_hostname="localhost")
    theirs = context.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (ours, theirs):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return ours.getpeercert(binary_form=True)


def test_files_and_a_local_authority_exclude_each_other() -> None:
    tls = TlsConfig(broker_port=0, local_authority=True, certificate_file="/c")
    with pytest.raises(InvalidConfiguration, match="cannot use both tlsCertificateFilePath and tlsLocalAuthority"):
        EmbeddedBroker(config=dataclasses.replace(BrokerConfig(), tls=tls)).start()
