"""A small run of `make fuzz` over all but frames, and damaged TLS records on a live listener."""

from __future__ import annotations

import dataclasses
import logging
import random
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.config.tls import TlsConfig
from broker_core.testing import EmbeddedBroker
from tests.long.fuzz.authentication import Fuzzing
from tests.long.fuzz.http_requests import HttpRequests
from tests.long.fuzz.mutation import mutated
from tests.long.fuzz.tls_records import Handshakes
from tests.support.authority import Authority
from tests.support.local_issuer import LocalIssuer
from tests.support.secured import ask, config

ROUNDS = 300
HELLO = bytes.fromhex("1603010066010000620303") + bytes(32) + bytes.fromhex("00000413011303010000350000")


@pytest.fixture
def issuer() -> Iterator[LocalIssuer]:
    with LocalIssuer() as found:
        yield found


async def test_damaged_credentials_are_refused_and_give_no_other_role(tmp_path: Path, issuer: LocalIssuer) -> None:
    accepted = await Fuzzing(tmp_path, issuer).run(ROUNDS, seed=1)
    assert all(0 < count < ROUNDS for count in accepted.values()), accepted


def test_damaged_tls_records_end_the_handshake_and_nothing_else(tmp_path: Path) -> None:
    assert 0 < Handshakes(tmp_path).run(ROUNDS, seed=1)["TLS records"] < ROUNDS


def test_damaged_http_requests_are_answered_or_end_the_connection() -> None:
    with HttpRequests() as requests:
        assert 0 < requests.run(ROUNDS, seed=1)["HTTP requests"] < ROUNDS


def test_damaged_records_on_a_tls_port_leave_no_traceback_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    certificate, key = Authority(tmp_path).issue("server")
    tls = TlsConfig(broker_port=0, web_port=0, certificate_file=str(certificate), key_file=str(key))
    chance = random.Random(1)
    with caplog.at_level(logging.WARNING), EmbeddedBroker(config=dataclasses.replace(config(), tls=tls)) as broker:
        ports = [int(url.rpartition(":")[2]) for url in (broker.broker.service_url_tls, broker.broker.http_url_tls)]
        for number in range(40):
            with socket.create_connection(("127.0.0.1", ports[number % 2]), 10) as client:
                client.sendall(mutated(HELLO, chance))
                client.shutdown(socket.SHUT_WR)
                while client.recv(4096):
                    """Until the broker closes the connection."""
        assert ask(broker, "GET", "tenants").status == 200
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
