"""What TLS costs: the same load with a token, plain and by TLS, to this broker and to Apache Pulsar, in turn."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tests.clients.secured_broker import Secured, secured_broker
from tests.long.bench.brokers import scratch_dir
from tests.long.bench.load import Load, Result
from tests.long.bench.rows import run_python
from tests.long.real_pulsar.java_pulsar import JavaPulsar, Missing, free_ports
from tests.support.authority import Authority
from tests.support.secured import ADMIN, SECRET_URL, token

ROUNDS = 3  # after one that does not count: a JVM is slow until it is warm
COUNT, SIZE = 100_000, 1_000
LOADS = (("publish", "publish batched 1 KB"), ("consume", "catch-up consume batched 1 KB"))
WAYS = ("plain", "TLS")
TOKEN_PROVIDER = "org.apache.pulsar.broker.authentication.AuthenticationProviderToken"

Runs = dict[tuple[str, str, str], list[Result]]  # broker, load, way


def secured(directory: Path, *, count: int = COUNT, rounds: int = ROUNDS) -> str:
    """Medians of messages per second, and of the broker's CPU time for each message."""
    scratch = scratch_dir(directory, "secured")
    with secured_broker(scratch) as broker:
        brokers = {"pulsarctl": broker}
        try:
            with secured_pulsar(scratch) as pulsar:
                runs = _measured({**brokers, "Apache Pulsar": pulsar}, count, rounds)
        except Missing as reason:
            runs = _measured(brokers, count, rounds)
            return f"{_table(runs)}\n  without Apache Pulsar: {reason}"
    return _table(runs)


@contextmanager
def secured_pulsar(scratch: Path) -> Iterator[Secured]:
    """Apache Pulsar with the same tokens. Raises `Missing`."""
    folder = scratch / "pulsar"
    folder.mkdir()
    certificate, key = Authority(folder / "tls").issue("server")
    (port,) = free_ports(1)
    settings = {
        "brokerServicePortTls": str(port),
        "tlsCertificateFilePath": str(certificate),
        "tlsKeyFilePath": str(key),
        "authenticationEnabled": "true",
        "authorizationEnabled": "true",
        "authenticationProviders": TOKEN_PROVIDER,
        "tokenSecretKey": SECRET_URL,
        "superUserRoles": ADMIN,
        "brokerClientAuthenticationPlugin": "org.apache.pulsar.client.impl.auth.AuthenticationToken",
        "brokerClientAuthenticationParameters": f"token:{token(ADMIN)}",
    }
    pulsar = JavaPulsar(folder, settings, token=token(ADMIN))
    pulsar.start()
    try:
        url = f"pulsar+ssl://localhost:{port}"
        yield Secured(url, "", folder / "tls", "", plain_url=pulsar.service_url, pid=pulsar.pid)
    finally:
        pulsar.stop()


def _measured(brokers: dict[str, Secured], count: int, rounds: int) -> Runs:
    runs: Runs = {}
    for number in range(rounds + 1):
        for name, broker in brokers.items():
            for way, url in zip(WAYS, (broker.plain_url, broker.service_url), strict=True):
                for load, _ in LOADS:
                    given = Load(load, url, f"secured-{number}-{way}", count=count, size=SIZE, batched=True)
                    found = run_python(_with_credentials(given, broker))
                    if number:
                        runs.setdefault((name, load, way), []).append(found)
    return runs


def _with_credentials(load: Load, broker: Secured) -> Load:
    return replace(load, pid=broker.pid, token=token(ADMIN), trust_file=broker.trust_file)


def _table(runs: Runs) -> str:
    lines = ["with a token:"]
    for load, title in LOADS:
        for name in dict.fromkeys(broker for broker, _, _ in runs):
            plain, tls = (_figures(runs[name, load, way]) for way in WAYS)
            lines.append(f"  {title}, {name}: {tls} by TLS, {plain} plain")
    return "\n".join(lines)


def _figures(results: list[Result]) -> str:
    rate, cpu = (statistics.median(float(one[key]) for one in results) for key in ("msg_s", "broker_us"))
    return f"{rate:,.0f} msg/s with {cpu:.1f} us of the broker's CPU per message"
