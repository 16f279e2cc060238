"""Credentials that this process presents to another server, from its configuration."""

from __future__ import annotations

import os
from dataclasses import dataclass

from broker_core.broker_client.credentials import PluginCredentials, method_of
from broker_core.errors import AuthenticationFailed, InvalidConfiguration

_NONE = ("", "none", "authenticationdisabled", "org.apache.pulsar.client.impl.auth.authenticationdisabled")
_KEY = "brokerClientAuthenticationParameters"


@dataclass(frozen=True, repr=False)
class OwnCredentials(PluginCredentials):
    """Raises `AuthenticationFailed` if they cannot be read."""

    def data(self) -> bytes:
        try:
            return super().data()
        except OSError as error:
            raise AuthenticationFailed(f"cannot read the credentials of this process: {error}") from None


def own_credentials(plugin: str, parameters: str) -> OwnCredentials | None:
    """The broker's credentials; None without a plugin. Raises `InvalidConfiguration`, which never quotes a secret."""
    if plugin.strip().lower() in _NONE:
        return None
    method = method_of(plugin)
    if method is None:
        raise InvalidConfiguration(
            f"unknown brokerClientAuthenticationPlugin {plugin!r}; use AuthenticationToken, AuthenticationBasic, or"
            " AuthenticationTls"
        )
    credentials = OwnCredentials(method, _without_variable(parameters.strip()))
    try:
        credentials.data()
    except ValueError as error:
        raise InvalidConfiguration(f"{_KEY} {error}") from None
    except AuthenticationFailed:
        return credentials  # the file is read again for each connection
    return credentials


def _without_variable(parameters: str) -> str:
    if not parameters.startswith("env:"):
        return parameters
    name = parameters.removeprefix("env:")
    if name not in os.environ:
        raise InvalidConfiguration(f"{_KEY}: there is no variable {name}")
    return f"token:{os.environ[name]}"
