"""Certificates that servers present, trusted or not."""

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pulsarctl.client import certificates
from tests.support.authority import Authority
from tests.support.runner import Cli

DAY_MS = 86_400_000


@contextmanager
def tls_server(certificate: Path, key: Path) -> Iterator[int]:
    """Shakes hands and says nothing; yields its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        accepting = threading.Thread(target=_serve, args=(listening, context), daemon=True)
        accepting.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        accepting.join(10)


def _serve(listening: socket.socket, context: ssl.SSLContext) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        try:
            context.wrap_socket(connection, server_side=True).close()
        except OSError:
            continue


def test_the_certificate_of_each_tls_address_is_judged(cli_alone: Cli, tmp_path: Path) -> None:
    with tls_server(*Authority(tmp_path).issue("server")) as port:
        addresses = ("--admin-url", f"https://127.0.0.1:{port}", "--url", f"pulsar+ssl://127.0.0.1:{port}")
        outcome = cli_alone("doctor", *addresses, "-o", "json")
    found = [one for one in json.loads(outcome.stdout) if one["code"].startswith("certificate")]
    assert [(one["code"], one["severity"]) for one in found] == [("certificate-expires", "problem")] * 2
    assert found[0]["finding"].startswith(f"The certificate of the admin API at 127.0.0.1:{port} is valid until ")


def test_a_server_without_tls_is_a_finding(cli_alone: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        listening.close()
        outcome = cli_alone("doctor", "--admin-url", f"https://127.0.0.1:{port}", "-o", "json")
    assert "certificate-unknown" in [one["code"] for one in json.loads(outcome.stdout)]


def test_the_certificate_of_the_client_is_read_from_its_file(tmp_path: Path) -> None:
    certificate, _key = Authority(tmp_path).issue("client")
    left_ms = certificates.not_after_ms(certificates.stored(str(certificate)))
    assert left_ms % 1000 == 0
    assert left_ms > DAY_MS
