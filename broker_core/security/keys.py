"""Values of settings that are a key or a file's content: where Pulsar takes them from, and which algorithms fit them.

A value is a `file:` URL, a `data:` URL, the path of a file, or base64 text. The bytes of a file count as they are.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from broker_core.errors import InvalidConfiguration

SHORTEST_SECRET = 32  # bytes, as RFC 7518 requires for HS256
_PEM = b"-----BEGIN"
_SECRET_ALGORITHMS = (("HS256", 32), ("HS384", 48), ("HS512", 64))
_RSA_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_CURVE_ALGORITHMS = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}


@dataclass(frozen=True, slots=True)
class TokenKey:
    """A key with the algorithms that it may be used with: never those of another family."""

    key: Any = field(repr=False)
    algorithms: tuple[str, ...]


def read_value(setting: str, value: str) -> bytes:
    """The bytes that a setting names; raises `InvalidConfiguration`, which does not repeat the value."""
    if value.startswith("data:"):
        return _of_data_url(setting, value)
    path = path_in(value)
    if path is not None:
        return _of_file(setting, path)
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidConfiguration(
            f"cannot read {setting}: there is no such file, and it is not base64 text; use file:///PATH"
        ) from None


def path_in(value: str) -> Path | None:
    """The path of a `file:` URL, or of a file that exists; None for another value."""
    if value.startswith("file:"):
        return Path(unquote(value.removeprefix("file:").removeprefix("//")))
    path = Path(value)
    return path if _is_file(path) else None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a long key is not a path
        return False


def _of_file(setting: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise InvalidConfiguration(f"cannot read {setting}: {error}") from None


def _of_data_url(setting: str, value: str) -> bytes:
    head, comma, body = value.partition(",")
    if not comma:
        raise InvalidConfiguration(f"cannot read {setting}: a data: URL needs a comma, as in data:;base64,TEXT")
    if not head.endswith(";base64"):
        return unquote_to_bytes(body)
    try:
        return base64.b64decode(unquote(body), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidConfiguration(f"cannot read {setting}: its data: URL is not base64") from None


def secret_key(setting: str, value: str) -> TokenKey:
    secret = read_value(setting, value)
    fitting = tuple(name for name, least in _SECRET_ALGORITHMS if len(secret) >= least)
    if not fitting:
        raise InvalidConfiguration(
            f"cannot use {setting}: the key has {len(secret)} bytes, and needs {SHORTEST_SECRET};"
            " if this is a path, the file does not exist. Create a key: pulsarctl tokens create-secret-key"
        )
    return TokenKey(secret, fitting)


def public_key(setting: str, value: str) -> TokenKey:
    """An RSA, EC, or Ed25519 key in the DER form of Pulsar's tools, or in PEM form."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization

    encoded = read_value(setting, value)
    load = serialization.load_pem_public_key if _PEM in encoded[:1024] else serialization.load_der_public_key
    try:
        key = load(encoded)
    except (ValueError, UnsupportedAlgorithm):
        raise InvalidConfiguration(
            f"cannot use {setting}: not a public key in DER or PEM form; if this is a path, the file does not exist"
        ) from None
    return TokenKey(key, algorithms_of(setting, key))


def private_key(setting: str, value: str) -> TokenKey:
    """A private key in the DER form of Pulsar's tools (PKCS 8), or in PEM form; it signs."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization

    encoded = read_value(setting, value)
    load = serialization.load_pem_private_key if _PEM in encoded[:1024] else serialization.load_der_private_key
    try:
        key = load(encoded, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise InvalidConfiguration(
            f"cannot use {setting}: not a private key in DER or PEM form; if this is a path, the file does not exist"
        ) from None
    return TokenKey(key, algorithms_of(setting, key))


def algorithms_of(setting: str, key: Any) -> tuple[str, ...]:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    if isinstance(key, rsa.RSAPublicKey | rsa.RSAPrivateKey):
        return _RSA_ALGORITHMS
    if isinstance(key, ec.EllipticCurvePublicKey | ec.EllipticCurvePrivateKey) and key.curve.name in _CURVE_ALGORITHMS:
        return (_CURVE_ALGORITHMS[key.curve.name],)
    if isinstance(key, ed25519.Ed25519PublicKey | ed25519.Ed25519PrivateKey):
        return ("EdDSA",)
    known = "RSA, EC (P-256, P-384, P-521), and Ed25519"
    raise InvalidConfiguration(f"cannot use {setting}: only {known} keys sign tokens")
