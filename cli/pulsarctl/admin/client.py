"""The typed client of the admin REST API, with one attribute for each noun and one method for each endpoint.

Documents that a command only shows (policies, stats) stay JSON objects, so that fields of newer brokers are shown, too.
Values that a command uses have a type, such as `Status`. Every method may raise the errors of `admin.http`.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pulsarctl.admin.http import AdminHttp
from pulsarctl.errors import NotFound
from pulsarctl.settings.settings import Settings
from pulsarctl.values.names import namespace_path, segment, subscription_segment

if TYPE_CHECKING:
    from pulsarctl.admin.auth import Auth
    from pulsarctl.admin.scalable_topics import ScalableTopics
    from pulsarctl.admin.schemas import Schemas
    from pulsarctl.admin.topics import Topics
    from pulsarctl.admin.transactions import Transactions

Document = dict[str, Any]
Documents = list[Document]
Names = list[str]  # in a class with a method `list`, the name of the builtin is taken
ROOT = "/admin/v2"


class AdminClient:
    """Connects on the first call; `close` closes the connection."""

    def __init__(self, settings: Settings) -> None:
        self.http = AdminHttp(settings)

    def close(self) -> None:
        self.http.close()

    @cached_property
    def tenants(self) -> "Tenants":
        return Tenants(self.http)

    @cached_property
    def namespaces(self) -> "Namespaces":
        return Namespaces(self.http)

    @cached_property
    def clusters(self) -> "Clusters":
        return Clusters(self.http)

    @cached_property
    def brokers(self) -> "Brokers":
        return Brokers(self.http)

    @cached_property
    def auth(self) -> "Auth":
        from pulsarctl.admin.auth import Auth

        return Auth(self.http)

    @cached_property
    def topics(self) -> "Topics":
        from pulsarctl.admin.topics import Topics

        return Topics(self.http)

    @cached_property
    def schemas(self) -> "Schemas":
        from pulsarctl.admin.schemas import Schemas

        return Schemas(self.http)

    @cached_property
    def scalable_topics(self) -> "ScalableTopics":
        from pulsarctl.admin.scalable_topics import ScalableTopics

        return ScalableTopics(self.http)

    @cached_property
    def transactions(self) -> "Transactions":
        from pulsarctl.admin.transactions import Transactions

        return Transactions(self.http)


class Tenants:
    def __init__(self, http: AdminHttp) -> None:
        self._http = http

    def list(self) -> Names:
        return sorted(self._http.get(f"{ROOT}/tenants"))

    def get(self, tenant: str) -> Document:
        return _document(self._http.get(self._path(tenant)))

    def create(self, tenant: str, admin_roles: Sequence[str], allowed_clusters: Sequence[str]) -> None:
        self._http.put(self._path(tenant), _tenant(admin_roles, allowed_clusters))

    def update(self, tenant: str, admin_roles: Sequence[str], allowed_clusters: Sequence[str]) -> None:
        """Replaces both lists."""
        self._http.post(self._path(tenant), _tenant(admin_roles, allowed_clusters))

    def delete(self, tenant: str, *, force: bool = False) -> None:
        self._http.delete(self._path(tenant), force=force)

    def _path(self, tenant: str) -> str:
        return f"{ROOT}/tenants/{segment(tenant)}"


class Namespaces:
    def __init__(self, http: AdminHttp) -> None:
        self._http = http

    def list(self, tenant: str) -> Names:
        return sorted(self._http.get(f"{ROOT}/namespaces/{segment(tenant)}"))

    def policies(self, namespace: str) -> Document:
        return _document(self._http.get(self._path(namespace)))

    def create(self, namespace: str, policies: Document | None = None) -> None:
        self._http.put(self._path(namespace), policies)

    def delete(self, namespace: str, *, force: bool = False) -> None:
        self._http.delete(self._path(namespace), force=force)

    def topics(self, namespace: str, *, mode: str | None = None, system_topics: bool | None = None) -> Names:
        """Every topic, including each partition. `mode` is PERSISTENT, NON_PERSISTENT, or ALL."""
        return sorted(self._http.get(f"{self._path(namespace)}/topics", mode=mode, includeSystemTopic=system_topics))

    def bundles(self, namespace: str) -> Document:
        return _document(self._http.get(f"{self._path(namespace)}/bundles"))

    def permissions(self, namespace: str) -> Document:
        return _document(self._http.get(f"{self._path(namespace)}/permissions"))

    def clusters(self, namespace: str) -> Names:
        return sorted(self._http.get(f"{self._path(namespace)}/replication"))

    def properties(self, namespace: str) -> Document:
        return _document(self._http.get(f"{self._path(namespace)}/properties"))

    def set_properties(self, namespace: str, properties: dict[str, str]) -> None:
        self._http.put(f"{self._path(namespace)}/properties", properties)

    def clear_properties(self, namespace: str) -> None:
        self._http.delete(f"{self._path(namespace)}/properties")

    def unload(self, namespace: str, bundle: str | None = None, broker: str | None = None) -> None:
        """`broker` takes over the bundle."""
        middle = f"/{bundle}" if bundle else ""
        self._http.put(f"{self._path(namespace)}{middle}/unload", destinationBroker=broker)

    def clear_backlog(self, namespace: str, subscription: str | None = None, bundle: str | None = None) -> None:
        middle = f"/{bundle}" if bundle else ""
        end = f"/{subscription_segment(subscription)}" if subscription else ""
        self._http.post(f"{self._path(namespace)}{middle}/clearBacklog{end}")

    def unsubscribe(self, namespace: str, subscription: str, bundle: str | None = None) -> None:
        middle = f"/{bundle}" if bundle else ""
        self._http.post(f"{self._path(namespace)}{middle}/unsubscribe/{subscription_segment(subscription)}")

    def policy(self, namespace: str, name: str, **query: object) -> Any:
        """The value of the policy with this path, None if it is unset."""
        return self._http.get(f"{self._path(namespace)}/{name}", **query)

    def set_policy(self, namespace: str, name: str, value: Any, *, method: str = "POST", **query: object) -> None:
        self._http.request(method, f"{self._path(namespace)}/{name}", body=value, query=query)

    def remove_policy(self, namespace: str, name: str, **query: object) -> None:
        self._http.delete(f"{self._path(namespace)}/{name}", **query)

    def _path(self, namespace: str) -> str:
        return f"{ROOT}/namespaces/{namespace_path(namespace)}"


class Clusters:
    def __init__(self, http: AdminHttp) -> None:
        self._http = http

    def list(self) -> Names:
        return sorted(self._http.get(f"{ROOT}/clusters"))

    def get(self, cluster: str) -> Document:
        return _document(self._http.get(f"{ROOT}/clusters/{segment(cluster)}"))

    def delete(self, cluster: str) -> None:
        self._http.delete(f"{ROOT}/clusters/{segment(cluster)}")


class Brokers:
    def __init__(self, http: AdminHttp) -> None:
        self._http = http

    def list(self, cluster: str | None = None) -> Names:
        return sorted(self._http.get(f"{ROOT}/brokers" + (f"/{segment(cluster)}" if cluster else "")))

    def healthcheck(self, topic_version: str | None = None) -> str:
        """`ok`, or why the broker is degraded. An unhealthy broker returns an error."""
        return str(self._http.get(f"{ROOT}/brokers/health", topicVersion=topic_version)).strip()

    def damage(self) -> Documents:
        """The damage in the data of the bundled broker.

        Raises `NotFound` on Apache Pulsar, which takes the path for that of a cluster and lists its brokers.
        """
        documents = list(self._http.get(f"{ROOT}/brokers/damage") or [])
        if not all(isinstance(document, dict) for document in documents):
            raise NotFound("this broker does not report damage: it is not pulsarctl's")
        return documents

    def accept_loss(self) -> Names:
        """Accepts the loss of damaged data; returns what was not accepted before."""
        return list(self._http.post(f"{ROOT}/brokers/damage/accept") or [])

    def audit_store(self, store: Document | None, *, sweep: bool = False) -> Document:
        """Compares a store of offloaded ledgers with the broker's catalog. Apache Pulsar has no such endpoint.

        `store`: members of OffloadPolicies; None: that of the broker's configuration. `sweep` removes orphans.
        """
        return _document(self._http.post(f"{ROOT}/brokers/offload/audit", store, sweep=sweep))

    def leader(self) -> Document:
        return _document(self._http.get(f"{ROOT}/brokers/leaderBroker"))

    def dynamic_configuration_names(self) -> Names:
        return sorted(self._http.get(f"{ROOT}/brokers/configuration"))

    def dynamic_configuration(self) -> Document:
        return _document(self._http.get(f"{ROOT}/brokers/configuration/values"))

    def internal_configuration(self) -> Document:
        return _document(self._http.get(f"{ROOT}/brokers/internal-configuration"))

    def runtime_configuration(self) -> Document:
        return _document(self._http.get(f"{ROOT}/brokers/configuration/runtime"))

    def version(self) -> str:
        return str(self._http.get(f"{ROOT}/brokers/version")).strip()


def _tenant(admin_roles: Sequence[str], allowed_clusters: Sequence[str]) -> Document:
    return {"adminRoles": list(admin_roles), "allowedClusters": list(allowed_clusters)}


def _document(value: Any) -> Document:
    return value if isinstance(value, dict) else {}
