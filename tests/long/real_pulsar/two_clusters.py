"""This broker and a real Pulsar that replicate to each other."""

from collections.abc import Iterator
from contextlib import contextmanager

from broker_core.config.features import DeduplicationConfig
from broker_core.testing import EmbeddedBroker
from tests.long.real_pulsar.java_pulsar import JavaPulsar
from tests.support import official_client
from tests.support.clusters import admin, config_of, new_namespace, record_of, register

REAL, OURS = "standalone", "ours"


class Clusters:
    def __init__(self, ours: EmbeddedBroker, real: JavaPulsar, prefix: str) -> None:
        self._prefix = prefix
        self.ours, self.real = ours, real
        self.of_ours, self.of_real = (official_client.connect(one.service_url) for one in (ours, real))
        self._namespaces = 0

    def leave(self) -> None:
        """Other tests compare all clusters and tenants of Pulsar with ours."""
        for number in range(1, self._namespaces + 1):
            admin(self.real.http_url, "POST", f"namespaces/public/{self._prefix}{number}/replication", [REAL])
        admin(self.real.http_url, "POST", "tenants/public", {"allowedClusters": [REAL], "adminRoles": []})
        admin(self.real.http_url, "DELETE", f"clusters/{OURS}")

    def topic(self) -> str:
        self._namespaces += 1
        name = f"{self._prefix}{self._namespaces}"
        new_namespace((self.ours,), name, [OURS, REAL])
        admin(self.real.http_url, "PUT", f"namespaces/public/{name}")
        admin(self.real.http_url, "POST", f"namespaces/public/{name}/replication", [OURS, REAL])
        return f"persistent://public/{name}/t"


@contextmanager
def replicating(java_pulsar: JavaPulsar, prefix: str) -> Iterator[Clusters]:
    """Both, which know each other. The names of their namespaces begin with the prefix."""
    with EmbeddedBroker(config=config_of(OURS, deduplication=DeduplicationConfig(enabled=True))) as ours:
        register(ours, REAL, java_pulsar.service_url, java_pulsar.http_url)
        admin(java_pulsar.http_url, "PUT", f"clusters/{OURS}", record_of(ours.service_url, ours.http_url))
        admin(java_pulsar.http_url, "POST", "tenants/public", {"allowedClusters": [REAL, OURS], "adminRoles": []})
        both = Clusters(ours, java_pulsar, prefix)
        yield both
        both.of_ours.close()
        both.of_real.close()
        both.leave()
