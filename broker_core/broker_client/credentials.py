"""Credentials by the plugins and parameters of Pulsar's Java client: a token, a user and password, or a certificate.

The parameters are read at each use, so a renewed token in a file is used without a restart.
"""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

_METHODS = {"authenticationtoken": "token", "authenticationbasic": "basic", "authenticationtls": "tls"}


def method_of(plugin: str) -> str | None:
    """The name on the wire of a plugin, given by the name of its class or by that name; None if it is unknown."""
    name = plugin.strip().rpartition(".")[2].lower()
    return name if name in _METHODS.values() else _METHODS.get(name)


@dataclass(frozen=True, repr=False)
class PluginCredentials:
    """`method` is "" without authentication. `parameters` are secret: they are never shown."""

    method: str
    parameters: str

    def data(self) -> bytes:
        """The data for CONNECT. Raises `OSError`, or `ValueError` that says what is wrong with the parameters."""
        if self.method == "token":
            return _token(self.parameters.strip())
        if self.method == "basic":
            return _user_and_password(self.parameters.strip())
        return b""

    def headers(self) -> dict[str, str]:
        """The headers for HTTP; a certificate has none. Raises what `data` raises."""
        if self.method == "token":
            return {"Authorization": f"Bearer {self.data().decode()}"}
        if self.method == "basic":
            return {"Authorization": f"Basic {b64encode(self.data()).decode()}"}
        return {}


def _token(text: str) -> bytes:
    if text.startswith("{"):
        text = _member(text, "token")
    if text.startswith("file:"):
        return Path(text.removeprefix("file:").removeprefix("//")).read_bytes().strip()
    token = text.removeprefix("token:").strip()
    if not token:
        raise ValueError("holds no token; use token:TOKEN or file:///PATH")
    return token.encode()


def _user_and_password(text: str) -> bytes:
    if ":" in text and not text.startswith("{"):
        return text.encode()
    return f"{_member(text, 'userId', 'username')}:{_member(text, 'password')}".encode()


def _member(text: str, *names: str) -> str:
    try:
        members = json.loads(text)
        value = next(members[name] for name in names if name in members)
    except (ValueError, TypeError, StopIteration):
        value = None
    if not isinstance(value, str):
        raise ValueError(f"must be a JSON object with {names[0]!r}")
    return value
