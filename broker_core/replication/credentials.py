"""The broker's identity in another cluster: the plugin in the cluster's record, and its parameters."""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.broker_client.credentials import PluginCredentials, method_of
from broker_core.replication.errors import CannotReplicate


@dataclass(frozen=True, repr=False)
class Credentials(PluginCredentials):
    """Raises `CannotReplicate` if they cannot be read."""

    cluster: str

    @classmethod
    def of(cls, cluster: str, plugin: str, parameters: str) -> Credentials:
        """Raises `CannotReplicate` for a plugin that is not supported."""
        method = method_of(plugin) if plugin else ""
        if method is None:
            raise CannotReplicate(f"cluster {cluster}: authentication plugin {plugin} is not supported")
        return cls(method, parameters, cluster)

    def data(self) -> bytes:
        try:
            return super().data()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "its parameters cannot be read"
            raise CannotReplicate(f"cluster {self.cluster}: cannot use its {self.method}: {reason}") from None

    @property
    def certificate(self) -> tuple[str, str]:
        """The files of certificate and key; empty for other methods."""
        if self.method != "tls":
            return "", ""
        pairs = dict(parameter.partition(":")[::2] for parameter in self.parameters.split(","))
        return pairs.get("tlsCertFile", ""), pairs.get("tlsKeyFile", "")
