"""The public keys in a JSON Web Key Set (RFC 7517), by key ID. Slow for large sets, so call it in a thread.

Only RSA and EC keys that may verify signatures count, each with the algorithms of its own kind, as in Pulsar. A
symmetric key in a published set is not a secret, so it never verifies a token.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from broker_core.errors import InvalidConfiguration
from broker_core.security.keys import TokenKey, algorithms_of

KEYS_MAX = 100
LONGEST_ID = 256  # characters
SMALLEST_RSA, LARGEST_RSA = 2048, 8192  # bits; a larger key would make each check slow
_PUBLIC_MEMBERS = {"RSA": ("kty", "n", "e"), "EC": ("kty", "crv", "x", "y")}
_ALGORITHMS = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512")


class KeysUnavailable(Exception):
    """The keys of an issuer cannot be read; the text says why, and repeats no content."""


def parse_key_set(content: bytes) -> dict[str, TokenKey]:
    """Raises `KeysUnavailable` for content that is not a key set, or has no key that can be used."""
    listed = parse_object(content).get("keys")
    if not isinstance(listed, list):
        raise KeysUnavailable("it is not a key set: it has no list of keys")
    if len(listed) > KEYS_MAX:
        raise KeysUnavailable(f"the key set has {len(listed)} keys; at most {KEYS_MAX} are read")
    keys: dict[str, TokenKey] = {}
    for document in listed:
        key_id, key = _key(document)
        if key is not None:
            keys.setdefault(key_id, key)
    if not keys:
        raise KeysUnavailable("the key set has no RSA or EC key with a key ID that verifies signatures")
    return keys


def parse_object(content: bytes) -> dict[str, Any]:
    """The JSON object in a document of an issuer; raises `KeysUnavailable`."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise KeysUnavailable("it is not JSON") from None
    if not isinstance(document, dict):
        raise KeysUnavailable("it is not a JSON object")
    return document


def _key(described: object) -> tuple[str, TokenKey | None]:
    """A key ID and its key; None for a key of another kind or use, and for one that is broken."""
    if not isinstance(described, dict) or described.get("use", "sig") != "sig":
        return "", None
    key_id, members = described.get("kid"), _PUBLIC_MEMBERS.get(str(described.get("kty")), ())
    if not isinstance(key_id, str) or not 0 < len(key_id) <= LONGEST_ID or not members:
        return "", None
    key = _public_key({name: described.get(name) for name in members})
    algorithms = _algorithms(key, described.get("alg"))
    return key_id, TokenKey(key, algorithms) if algorithms else None


def _public_key(members: Mapping[str, Any]) -> Any:
    import jwt

    algorithm = {"P-384": "ES384", "P-521": "ES512"}.get(str(members.get("crv")), "ES256")
    try:
        return jwt.PyJWK(dict(members), algorithm if members["kty"] == "EC" else "RS256").key
    except (jwt.PyJWTError, ValueError, TypeError, AttributeError, OverflowError):
        return None


def _algorithms(key: Any, named: object) -> tuple[str, ...]:
    """The algorithms that a key may be used with: the one that the set names for it, if it names one."""
    if key is None or not _has_good_size(key):
        return ()
    try:
        fitting = [name for name in algorithms_of("a key set", key) if name in _ALGORITHMS]
    except InvalidConfiguration:  # another curve
        return ()
    return tuple(name for name in fitting if named in (None, name))


def _has_good_size(key: Any) -> bool:
    from cryptography.hazmat.primitives.asymmetric import rsa

    return not isinstance(key, rsa.RSAPublicKey) or SMALLEST_RSA <= key.key_size <= LARGEST_RSA
