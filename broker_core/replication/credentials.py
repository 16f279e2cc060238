"""Who the broker is in another cluster: the plugins of Pulsar's clients, by their names in a cluster record.

Supported are tokens, user name and password, and TLS certificates. Tokens in files are read for each connection, so a
renewed one is used without a restart.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from broker_core.replication.errors import CannotReplicate

_METHODS = {"AuthenticationToken": "token", "AuthenticationBasic": "basic", "AuthenticationTls": "tls"}
_FILE = "file:"


@dataclass(frozen=True, slots=True, repr=False)
class Credentials:
    """`method` is "" without authentication. `parameters` are secret: they are never shown."""

    cluster: str
    method: str
    parameters: str

    @classmethod
    def of(cls, cluster: str, plugin: str, parameters: str) -> Credentials:
        """`plugin`: a class name of Pulsar's Java client, or `token`, `basic`, `tls`. Raises `CannotReplicate`."""
        name = plugin.rpartition(".")[2]
        method = _METHODS.get(name, name)
        if method not in ("", *_METHODS.values()):
            raise CannotReplicate(f"cluster {cluster}: authentication plugin {plugin} is not supported")
        return cls(cluster, method, parameters)

    def data(self) -> bytes:
        """What CONNECT carries. Raises `CannotReplicate` if it cannot be read."""
        try:
            if self.method == "token":
                return self._token().encode()
            if self.method == "basic":
                return self._user_and_password().encode()
        except (OSError, ValueError, KeyError, TypeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "its parameters cannot be read"
            raise CannotReplicate(f"cluster {self.cluster}: cannot use its {self.method}: {reason}") from None
        return b""

    def http_header(self) -> str | None:
        """The value of `Authorization` for the admin API; None without one."""
        if self.method == "token":
            return f"Bearer {self.data().decode()}"
        if self.method == "basic":
            from base64 import b64encode

            return f"Basic {b64encode(self.data()).decode()}"
        return None

    @property
    def certificate(self) -> tuple[str, str]:
        """The files of certificate and key; empty for other methods."""
        if self.method != "tls":
            return "", ""
        pairs = dict(one.partition(":")[::2] for one in self.parameters.split(","))
        return pairs.get("tlsCertFile", ""), pairs.get("tlsKeyFile", "")

    def _token(self) -> str:
        text = self.parameters.strip()
        if text.startswith("{"):
            text = str(json.loads(text)["token"])
        if text.startswith(_FILE):
            return Path(text.removeprefix(_FILE).removeprefix("//")).read_text().strip()
        return text.removeprefix("token:")

    def _user_and_password(self) -> str:
        if self.parameters.strip().startswith("{"):
            given = json.loads(self.parameters)
            return f"{given['userId']}:{given['password']}"
        return self.parameters
