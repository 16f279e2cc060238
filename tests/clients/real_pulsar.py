"""Apache Pulsar as the broker under test, plain, or with TLS, authorization, and the credentials of the other one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.clients.secured_broker import PROXY, REFRESH_SECONDS, TOKEN_PLUGIN, Secured, credentials, shared_settings
from tests.long.real_pulsar.java_pulsar import JavaPulsar, free_ports

# Where a release differs from this broker's defaults. The tests of backlog quotas wait for the check. It is not precise
# about time, because Pulsar then waits on the only thread that can end the wait, and stops for 30 s.
ALIKE = {
    "acknowledgmentAtBatchIndexLevelEnabled": "true",
    "backlogQuotaCheckIntervalInSeconds": "1",
    "preciseTimeBasedBacklogQuotaCheck": "false",
    "transactionCoordinatorEnabled": "true",
}


@contextmanager
def running(scratch: Path, settings: Mapping[str, str], *, token: str = "") -> Iterator[JavaPulsar]:
    scratch.mkdir(parents=True, exist_ok=True)
    pulsar = JavaPulsar(scratch, {**ALIKE, **settings}, token=token)
    pulsar.start()
    try:
        yield pulsar
    finally:
        pulsar.stop()


@contextmanager
def plain_pulsar(scratch: Path) -> Iterator[JavaPulsar]:
    with running(scratch, {}) as pulsar:
        yield pulsar


@contextmanager
def secured_pulsar(scratch: Path) -> Iterator[Secured]:
    """As `secured_broker`, but without OpenID Connect, which is in no jar that the standalone broker needs."""
    with credentials(scratch / "credentials") as made:
        binary, web = free_ports(2)
        given = dict(pair.split("=", 1) for pair in shared_settings(made.folder, made.issuer_url))
        given["authenticationProviders"] = _without_openid(given["authenticationProviders"])
        given |= {
            "brokerServicePortTls": str(binary),
            "webServicePortTls": str(web),
            "tlsCertificateFilePath": f"{made.folder}/server.pem",
            "tlsKeyFilePath": f"{made.folder}/server.key",
            "tlsTrustCertsFilePath": f"{made.folder}/ca.pem",
            "proxyRoles": PROXY,
            "authenticationRefreshCheckSeconds": str(REFRESH_SECONDS),
            "brokerClientAuthenticationPlugin": TOKEN_PLUGIN,
            "brokerClientAuthenticationParameters": f"token:{made.token}",
        }
        with running(scratch / "data", given, token=made.token) as pulsar:
            urls = f"pulsar+ssl://localhost:{binary}", f"https://localhost:{web}"
            yield dataclasses.replace(
                made, service_url=urls[0], admin_url=urls[1], plain_url=pulsar.service_url, pid=pulsar.pid
            )


def _without_openid(providers: str) -> str:
    return ",".join(one for one in providers.split(",") if "OpenID" not in one)
