"""The key that `-ekv` names: a path, a `file:` or `data:` URL, or `env:NAME`.

The official client reads keys from files, so that a key from elsewhere is in a private file while the command runs.
"""

import base64
import binascii
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, unquote_to_bytes

from pulsarctl.errors import UsageProblem

FLAG = "-ekv"
LARGEST = 64 * 1024  # bytes of a key
_PRIVATE, _PUBLIC = b"PRIVATE KEY-----", b"PUBLIC KEY-----"
_HINT = "use a path, file:///PATH, env:NAME, or data:application/x-pem-file;base64,TEXT"


@contextmanager
def public_key_file(text: str) -> Iterator[str]:
    """A file with the public key in PEM form. Raises `UsageProblem`."""
    content = _content(text)
    if _PUBLIC not in content:
        holding = (
            "a private key; messages are encrypted with the public key" if _PRIVATE in content else "no public key"
        )
        raise UsageProblem(
            f"cannot encrypt: {_shown(text)} holds {holding}", hint="use PEM: -----BEGIN PUBLIC KEY-----"
        )
    with _as_file(text, content) as file:
        yield file


@contextmanager
def private_key_file(text: str) -> Iterator[str]:
    """A file with the private key in PEM form. Raises `UsageProblem`."""
    with _as_file(text, private_key(text)) as file:
        yield file


def private_key(text: str) -> bytes:
    """A private key in PEM form. Raises `UsageProblem`, also if every user of this machine can read its file."""
    content = _content(text)
    if _PRIVATE not in content:
        holding = (
            "a public key; messages are decrypted with the private key" if _PUBLIC in content else "no private key"
        )
        raise UsageProblem(
            f"cannot decrypt: {_shown(text)} holds {holding}", hint="use PEM: -----BEGIN PRIVATE KEY-----"
        )
    path = _path(text)
    if path is not None and path.stat().st_mode & stat.S_IROTH:
        raise UsageProblem(f"cannot use {path}: every user of this machine can read it", hint=f"chmod 600 {path}")
    return content


def _content(text: str) -> bytes:
    if text.startswith("env:"):
        name = text.removeprefix("env:")
        if name not in os.environ:
            raise UsageProblem(f"cannot read the key: there is no environment variable {name}", hint=_HINT)
        return os.environ[name].encode()
    return _of_data_url(text) if text.startswith("data:") else _of_file(text)


def _of_data_url(text: str) -> bytes:
    head, comma, body = text.partition(",")
    if not comma:
        raise UsageProblem(f"cannot read the key: the data: URL of {FLAG} has no comma", hint=_HINT)
    if not head.endswith(";base64"):
        return unquote_to_bytes(body)
    try:
        return base64.b64decode(unquote(body), validate=True)
    except (binascii.Error, ValueError):
        raise UsageProblem(f"cannot read the key: the data: URL of {FLAG} is not base64", hint=_HINT) from None


def _of_file(text: str) -> bytes:
    path = _path(text)
    try:
        with open(path or text, "rb") as file:
            content = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageProblem(f"cannot read the key {path}: {reason}", hint=_HINT) from None
    if len(content) > LARGEST:
        raise UsageProblem(f"cannot read the key {path}: it is larger than {LARGEST} bytes", hint=_HINT)
    return content


def _path(text: str) -> Path | None:
    """None if the key is in no file."""
    if text.startswith(("env:", "data:")):
        return None
    return Path(unquote(text.removeprefix("file:").removeprefix("//"))) if text.startswith("file:") else Path(text)


def _shown(text: str) -> str:
    """The text for errors, without the key itself."""
    return f"the data: URL of {FLAG}" if text.startswith("data:") else text


@contextmanager
def _as_file(text: str, content: bytes) -> Iterator[str]:
    path = _path(text)
    if path is not None:
        yield str(path)
        return
    with tempfile.TemporaryDirectory(prefix="pulsarctl-") as folder:  # mode 0700
        file = Path(folder) / "key.pem"
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as written:
            written.write(content)
        yield str(file)
