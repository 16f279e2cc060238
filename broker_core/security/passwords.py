"""Passwords of an htpasswd file: the hashes bcrypt, MD5 of Apache (`apr1`), SHA-1, and DES crypt. Pure, but slow."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable
from typing import Any

from broker_core.errors import InvalidConfiguration

_APR1 = "$apr1$"
_BCRYPT = ("$2y$", "$2b$", "$2a$")
_SHA1 = "{SHA}"
_DES_LENGTH = 13
_LETTERS = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_BCRYPT_MAX = 72  # bytes of a password that count


def read_users(content: bytes) -> dict[str, str]:
    """Hashes by user name; raises `InvalidConfiguration` without repeating a hash. The last of equal names counts."""
    users = {}
    for number, line in enumerate(content.splitlines(), 1):
        name, colon, rest = line.partition(b":")
        hashed = rest.decode(errors="replace")
        if not colon or not name or ":" in hashed:
            raise InvalidConfiguration(f"line {number} of basicAuthConf is not user:hash")
        if checker(hashed) is None:
            raise InvalidConfiguration(
                f"line {number} of basicAuthConf has a hash that is not supported; create it with htpasswd -B or -m"
            )
        users[user_name(name)] = hashed
    if not users:
        raise InvalidConfiguration("basicAuthConf has no users; add one with htpasswd -B")
    return users


def user_name(name: bytes) -> str:
    """Different bytes give different names. A name that is not UTF-8 is not a role, and so cannot authenticate."""
    return name.decode(errors="surrogateescape")


def checker(hashed: str) -> Callable[[bytes], bool] | None:
    """A function that says whether a password has this hash; None if its kind is not supported."""
    if hashed.startswith(_BCRYPT):
        return lambda password: _bcrypt(password, hashed)
    if hashed.startswith(_APR1):
        return lambda password: _same(apr1(password, hashed.split("$")[2].encode()), hashed)
    if hashed.startswith(_SHA1):
        return lambda password: _same(
            _SHA1 + base64.b64encode(hashlib.sha1(password, usedforsecurity=False).digest()).decode(), hashed
        )
    crypt = _des_crypt()
    if crypt is not None and len(hashed) == _DES_LENGTH and "$" not in hashed:
        return lambda password: _same(crypt(password.decode(errors="replace"), hashed[:2]) or "", hashed)
    return None


def _same(actual: str, expected: str) -> bool:
    return hmac.compare_digest(actual.encode(), expected.encode())


def _bcrypt(password: bytes, hashed: str) -> bool:
    import bcrypt

    try:
        return bcrypt.checkpw(password[:_BCRYPT_MAX], hashed.encode())
    except ValueError:  # not a hash
        return False


def _des_crypt() -> Any:
    """The C library's function, as long as Python has it (before 3.13)."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            import crypt
    except ImportError:
        return None
    return crypt.crypt


def apr1(password: bytes, salt: bytes) -> str:
    """MD5-crypt with Apache's magic (APR, `apr_md5_encode`)."""
    salt = salt[:8]
    start = _md5(password + salt + password)
    mixed = password + _APR1.encode() + salt + (start * (len(password) // 16 + 1))[: len(password)]
    length = len(password)
    while length:
        mixed += b"\0" if length & 1 else password[:1]
        length >>= 1
    digest = _md5(mixed)
    for turn in range(1000):
        block = password if turn & 1 else digest
        block += (salt if turn % 3 else b"") + (password if turn % 7 else b"")
        digest = _md5(block + (digest if turn & 1 else password))
    return f"{_APR1}{salt.decode()}${_letters(digest)}"


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


def _letters(digest: bytes) -> str:
    groups = [(digest[i] << 16 | digest[i + 6] << 8 | digest[i + 12 if i < 4 else 5], 4) for i in range(5)]
    letters = bytearray()
    for value, count in [*groups, (digest[11], 2)]:
        for _ in range(count):
            letters.append(_LETTERS[value & 63])
            value >>= 6
    return letters.decode()
