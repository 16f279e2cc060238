"""Credentials that this process presents to another server, by the plugin names and parameters of Pulsar's clients."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from broker_core.errors import AuthenticationFailed, InvalidConfiguration

_PACKAGE = "org.apache.pulsar.client.impl.auth."
_METHODS = {
    "authenticationtoken": "token",
    "authenticationbasic": "basic",
    "authenticationtls": "tls",
    "token": "token",
    "basic": "basic",
    "tls": "tls",
}
_NONE = ("", "none", "authenticationdisabled", "org.apache.pulsar.client.impl.auth.authenticationdisabled")


@dataclass(frozen=True, slots=True)
class OwnCredentials:
    """`read` returns the current secret; a token file is read again each time."""

    method: str
    read: Callable[[], bytes]

    def data(self) -> bytes:
        """For `auth_data` of CONNECT; raises `AuthenticationFailed` if they cannot be read."""
        try:
            return self.read()
        except OSError as error:
            raise AuthenticationFailed(f"cannot read the credentials of this process: {error}") from None

    def headers(self) -> dict[str, str]:
        """For HTTP; a certificate has none. Raises `AuthenticationFailed`."""
        if self.method == "tls":
            return {}
        if self.method == "token":
            return {"Authorization": f"Bearer {self.data().decode()}"}
        return {"Authorization": "Basic " + base64.b64encode(self.data()).decode()}


def own_credentials(plugin: str, parameters: str) -> OwnCredentials | None:
    """None without a plugin. Raises `InvalidConfiguration`, which never quotes a secret."""
    if plugin.strip().lower() in _NONE:
        return None
    method = _METHODS.get(plugin.strip().removeprefix(_PACKAGE).lower())
    if method is None:
        raise InvalidConfiguration(
            f"unknown brokerClientAuthenticationPlugin {plugin!r}; use AuthenticationToken, AuthenticationBasic, or"
            " AuthenticationTls"
        )
    if method == "tls":
        return OwnCredentials(method, bytes)
    if method == "basic":
        user = _user(parameters)
        return OwnCredentials(method, lambda: user)
    return OwnCredentials(method, _token(parameters.strip()))


def _token(parameters: str) -> Callable[[], bytes]:
    if parameters.startswith("file:"):
        path = Path("/" + parameters.removeprefix("file:").lstrip("/"))
        return lambda: path.read_bytes().strip()
    if parameters.startswith("env:"):
        name = parameters.removeprefix("env:")
        if name not in os.environ:
            raise InvalidConfiguration(f"brokerClientAuthenticationParameters: there is no variable {name}")
        found = os.environ[name].strip().encode()
    elif parameters.startswith("{"):
        found = _text_in(parameters, "token").encode()
    else:
        found = parameters.removeprefix("token:").strip().encode()
    if not found:
        raise InvalidConfiguration(
            "brokerClientAuthenticationParameters holds no token; use token:TOKEN or file:///PATH"
        )
    return lambda: found


def _user(parameters: str) -> bytes:
    name = _text_in(parameters, "userId", "username")
    return f"{name}:{_text_in(parameters, 'password')}".encode()


def _text_in(parameters: str, *names: str) -> str:
    try:
        found = json.loads(parameters)
        text = next(found[name] for name in names if name in found)
    except (ValueError, TypeError, StopIteration):
        text = None
    if not isinstance(text, str):
        raise InvalidConfiguration(f"brokerClientAuthenticationParameters must be a JSON object with {names[0]!r}")
    return text
