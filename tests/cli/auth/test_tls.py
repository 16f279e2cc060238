"""What the command line trusts, and what it does with a server that it should not trust."""

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.testing import EmbeddedBroker
from pulsarctl.raw.entry_reader import EntryReader
from pulsarctl.settings.client_security import ClientSecurity
from tests.cli.auth.secured_cluster import Credentials, start_broker
from tests.support.authority import Authority
from tests.support.http_stub import HttpStub, Reply
from tests.support.runner import Cli, Outcome
from tests.support.secured import NAMESPACE, PLAIN, connect
from tests.support.threaded_listener import ThreadedListener

COMMANDS = {
    "admin": ("topics", "list", NAMESPACE),
    "produce": ("produce", PLAIN, "-m", "hello"),
    "read": ("read", PLAIN, "--from", "earliest", "--to", "latest"),
}
EVERY_COMMAND = pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)


class Strict:
    """A broker that requires a client certificate, and whose own certificate is for another host."""

    def __init__(self, folder: Path, authority: Authority) -> None:
        certificate, key = authority.issue("elsewhere", host="pulsar.example")
        self.broker = start_broker(
            folder,
            authority,
            certificate_file=str(certificate),
            key_file=str(key),
            require_client_certificate=True,
        )
        self.trust = ("--tls-trust-cert", str(authority.file))

    def run(self, home: Path, *words: str) -> Outcome:
        broker = self.broker.broker
        return Cli(home, broker.http_url_tls, broker.service_url_tls)(*words)


class AlertingServer(ThreadedListener):
    """A server that refuses plain text as OpenSSL does."""

    def accepted(self, connection: socket.socket) -> None:
        self.keep(connection)
        self.start(self._refuse, connection)

    def _refuse(self, connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(bytes.fromhex("15030100020246"))
        self.drop(connection)


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[Strict]:
    strict = Strict(tmp_path_factory.mktemp("strict"), authority)
    yield strict
    strict.broker.stop()


@pytest.mark.parametrize(
    ("option", "words"), [("--admin-url", COMMANDS["admin"]), ("--url", COMMANDS["produce"])], ids=["admin", "produce"]
)
def test_a_plain_url_for_a_port_with_tls_is_named(
    strict: Strict, cli_alone: Cli, option: str, words: tuple[str, ...]
) -> None:
    broker = strict.broker.broker
    secured = broker.http_url_tls if option == "--admin-url" else broker.service_url_tls
    outcome = cli_alone(*words, option, secured.replace("https:", "http:").replace("pulsar+ssl:", "pulsar:"))
    assert outcome.exit_code == 5
    assert "it closed the connection; is this the port of" in outcome.stderr
    assert "is the scheme of the URL right?" in outcome.stderr


@pytest.mark.parametrize("scheme", ["http", "pulsar"])
def test_a_server_that_answers_a_plain_request_with_a_tls_alert_expects_tls(cli_alone: Cli, scheme: str) -> None:
    with AlertingServer() as server:
        command, option = ("admin", "--admin-url") if scheme == "http" else ("produce", "--url")
        outcome = cli_alone(*COMMANDS[command], option, server.url.replace("pulsar", scheme))
    assert outcome.exit_code == 5
    assert f"it expects TLS; use {'https' if scheme == 'http' else 'pulsar+ssl'}://" in outcome.stderr


@EVERY_COMMAND
def test_a_certificate_of_an_unknown_authority_is_refused(
    strict: Strict, tmp_path: Path, credentials: Credentials, words: tuple[str, ...]
) -> None:
    outcome = strict.run(tmp_path, *words, *credentials.options("certificate"))
    assert outcome.exit_code == 5
    assert "its certificate is not trusted: self-signed certificate in certificate chain; name its" in outcome.stderr


@EVERY_COMMAND
def test_a_certificate_of_another_host_is_refused(
    strict: Strict, tmp_path: Path, credentials: Credentials, words: tuple[str, ...]
) -> None:
    outcome = strict.run(tmp_path, *words, *credentials.options("certificate"), *strict.trust)
    assert outcome.exit_code == 5
    assert "its certificate is not trusted: Hostname mismatch" in outcome.stderr


@EVERY_COMMAND
@pytest.mark.parametrize("option", ["--tls-no-hostname-verification", "--no-tls-hostname-verification"])
def test_the_host_name_is_not_verified_if_the_user_says_so(
    strict: Strict, tmp_path: Path, credentials: Credentials, words: tuple[str, ...], option: str
) -> None:
    outcome = strict.run(tmp_path, *words, *credentials.options("certificate"), *strict.trust, option)
    assert outcome.exit_code == 0, outcome.stderr


@EVERY_COMMAND
def test_any_certificate_is_accepted_if_the_user_says_so(
    strict: Strict, tmp_path: Path, credentials: Credentials, words: tuple[str, ...]
) -> None:
    outcome = strict.run(tmp_path, *words, *credentials.options("certificate"), "--tls-allow-insecure")
    assert outcome.exit_code == 0, outcome.stderr


@EVERY_COMMAND
def test_a_certificate_is_sent_besides_a_token(
    strict: Strict, tmp_path: Path, credentials: Credentials, words: tuple[str, ...]
) -> None:
    both = (*credentials.options("certificate"), *credentials.options("token-file"), "--tls-no-hostname-verification")
    outcome = strict.run(tmp_path, *words, *both, *strict.trust)
    assert outcome.exit_code == 0, outcome.stderr


@EVERY_COMMAND
def test_a_missing_client_certificate_is_an_authentication_error(
    strict: Strict, tmp_path: Path, credentials: Credentials, words: tuple[str, ...]
) -> None:
    options = (*credentials.options("token-file"), "--tls-no-hostname-verification", *strict.trust)
    outcome = strict.run(tmp_path, *words, *options)
    assert outcome.exit_code == 4
    assert "hint: if it requires a client certificate, specify --tls-cert FILE --tls-key FILE" in outcome.stderr


@EVERY_COMMAND
def test_certificate_files_that_cannot_be_used_are_named(
    strict: Strict, tmp_path: Path, credentials: Credentials, words: tuple[str, ...]
) -> None:
    swapped = ("--tls-cert", credentials.key, "--tls-key", credentials.certificate)
    outcome = strict.run(tmp_path, *words, *swapped, *strict.trust)
    assert outcome.exit_code == 2
    assert f"error: cannot use the certificates {strict.trust[1]}, {credentials.key}" in outcome.stderr


def test_more_than_fits_into_tls_records_is_read_completely(
    broker: EmbeddedBroker, authority: Authority, credentials: Credentials
) -> None:
    values = [bytes([65 + number]) * 1_000_000 for number in range(8)]
    topic = f"persistent://{NAMESPACE}/large"
    client = connect(broker, "admin")
    producer = client.create_producer(topic, batching_enabled=False)
    for value in values:
        producer.send(value)
    client.close()
    security = ClientSecurity(token_file=credentials.token_file, tls_trust_cert_path=str(authority.file))
    with EntryReader(broker.broker.service_url_tls, topic, security=security) as reader:
        assert [message.value for entry in reader.to_end() for message in entry.messages()] == values


def test_a_redirect_out_of_tls_is_not_followed(tmp_path: Path, authority: Authority, credentials: Credentials) -> None:
    with HttpStub(lambda request: Reply(200, [])) as plain:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*authority.issue("redirecting"))
        with HttpStub(lambda request: Reply(307, None, {"Location": f"{plain.url}/stolen"}), context) as secured:
            cli = Cli(tmp_path, secured.url)
            outcome = cli(
                "tenants", "list", *credentials.options("token-file"), "--tls-trust-cert", str(authority.file)
            )
        assert (outcome.exit_code, plain.requests) == (5, [])
        assert f"redirects to '{plain.url}/stolen', which is not secured by TLS" in outcome.stderr
