"""Decrypts the payloads of entries, as Pulsar's clients encrypt them.

A random data key encrypts the payload (AES-256-GCM, its tag at the end), and RSA (OAEP with SHA-1) encrypts the data
key, once for each key name. See "End-to-end encryption" in Pulsar's docs, and PIP-4.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.values.extras import require

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

DATA_KEYS_MAX = 1_000  # to remember: a producer uses each for hours
_DATA_KEY_SIZES = (16, 24, 32)
_NONCE_BYTES = 12


class NotDecrypted(CliError):
    """A message that cannot be decrypted; the text names the keys that it is encrypted for."""

    code = "not-decrypted"


class EncryptionKey(Protocol):
    """A data key, encrypted for one key name."""

    key: str
    value: bytes


class Decryption:
    def __init__(self, private_key: bytes) -> None:
        """`private_key`: in PEM form. Raises `UsageProblem`."""
        self._private_key = _loaded(private_key)
        self._data_keys: dict[bytes, bytes | None] = {}

    def decrypted(self, payload: bytes, keys: Iterable[EncryptionKey], nonce: bytes) -> bytes | None:
        """The payload in the clear; None if it is encrypted for other keys, or damaged."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        if len(nonce) != _NONCE_BYTES:
            return None
        for key in keys:
            data_key = self._data_key(key.value)
            if data_key is None:
                continue
            try:
                return AESGCM(data_key).decrypt(nonce, payload, None)
            except (InvalidTag, ValueError):
                continue
        return None

    def _data_key(self, encrypted: bytes) -> bytes | None:
        """None if another key encrypted it."""
        if encrypted not in self._data_keys:
            if len(self._data_keys) >= DATA_KEYS_MAX:
                del self._data_keys[next(iter(self._data_keys))]
            self._data_keys[encrypted] = self._unwrapped(encrypted)
        return self._data_keys[encrypted]

    def _unwrapped(self, encrypted: bytes) -> bytes | None:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import padding

        sha1 = hashes.SHA1()  # noqa: S303  # as in Pulsar's clients; OAEP needs no resistance to collisions
        oaep = padding.OAEP(padding.MGF1(sha1), sha1, None)
        try:
            data_key = self._private_key.decrypt(encrypted, oaep)
        except ValueError:
            return None
        return data_key if len(data_key) in _DATA_KEY_SIZES else None


def _loaded(private_key: bytes) -> "RSAPrivateKey":
    require("decrypt", "cryptography")
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    try:
        key = serialization.load_pem_private_key(private_key, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, RSAPrivateKey):
        raise UsageProblem(
            "cannot decrypt: the private key is not an RSA key in PEM form without a password",
            hint="check it with: openssl rsa -in KEY -check -noout",
        )
    return key


def not_decrypted(topic: str, message_id: str, names: Iterable[str], *, has_key: bool) -> NotDecrypted:
    keys = ", ".join(repr(name) for name in names) or "no key"
    why = "the private key is another one" if has_key else "there is no private key"
    return NotDecrypted(
        f"cannot decrypt message {message_id} of {topic}: it is encrypted for {keys}, and {why}",
        hint="name the private key with -ekv, or use --crypto-failure-action consume or discard",
    )
