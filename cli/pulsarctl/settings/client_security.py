"""The credentials and TLS options of a client, as plain values: from settings, or from the options of a table.

`pulsarctl.auth` turns them into an authentication and a TLS context. They travel to Spark tasks, and secrets never
appear in their representation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Self


@dataclass(frozen=True, slots=True)
class ClientSecurity:
    """At most one method of `METHODS` is given. Without one, a client certificate is the identity.

    The fields from `issuer_endpoint` to `scope` belong to OAuth 2.0 client credentials, under the Go tool's names.
    """

    auth_plugin: str | None = None
    auth_params: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    token_file: str | None = None
    user: str | None = None
    password_file: str | None = None
    issuer_endpoint: str | None = None
    key_file: str | None = field(default=None, repr=False)  # may hold the key itself, as a data: URL
    client_id: str | None = None
    audience: str | None = None
    scope: str | None = None
    tls_trust_cert_path: str | None = None
    tls_allow_insecure: bool = False
    tls_verify_hostname: bool = True
    tls_cert_file: str | None = None
    tls_key_file: str | None = None

    @classmethod
    def of(cls, settings: "ClientSecurity") -> Self:
        """Only the fields of this class, of settings that have more."""
        return cls(**{item.name: getattr(settings, item.name) for item in fields(ClientSecurity)})


OPEN = ClientSecurity()

# The fields of each way to authenticate. If one source names several, the first one counts.
METHODS: Mapping[str, tuple[str, ...]] = {
    "token": ("token",),
    "token file": ("token_file",),
    "password": ("user", "password_file"),
    "OAuth 2.0": ("issuer_endpoint", "key_file", "client_id", "audience", "scope"),
    "plugin": ("auth_plugin", "auth_params"),
}
METHOD_OF = {name: method for method, names in METHODS.items() for name in names}
FILES = ("token_file", "password_file", "key_file", "tls_trust_cert_path", "tls_cert_file", "tls_key_file")
SECRETS = ("token", "auth_params")  # other users can see a command line, and shells store it


def is_secret(name: str, value: str) -> bool:
    """Whether a field must not be shown to people. A key file is a name, unless it is the key itself."""
    return bool(value) and (name in SECRETS or (name == "key_file" and value.startswith("data:")))
