"""Object stores by their URI, through `pyarrow.fs`, with credentials from the environment.

The libraries of S3 and Google read all of them. Azure's reads those of a service principal or a managed identity. The
key of an account and a shared access signature are read here.
"""

import os
import re
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from pulsarctl.errors import UsageProblem

AZURE = ("abfs", "abfss")
SCHEMES = ("s3", "gs", "gcs", *AZURE)
HINT = (
    "use a directory, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, or abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX"
)
AZURE_KEYS = ("AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_KEY")  # Pulsar's offloader has the first, az the second
AZURE_SIGNATURE = "AZURE_STORAGE_SAS_TOKEN"
_SECRET = re.compile(r"(\bsig(?:=|%3D))[^&\s'\"]+", re.IGNORECASE)


class Guarded:
    """What pyarrow has of a store, whose failures are OSErrors without signatures: Azure's are of other kinds, too."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._inner, name)
        return partial(_answered, member) if callable(member) else member

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def redacted(text: str) -> str:
    """The text without the secret of a shared access signature, wherever it is."""
    return _SECRET.sub(r"\1REDACTED", text)


def _answered(call: Any, *arguments: Any, **options: Any) -> Any:
    """The failure is raised outside of its handler, so that no traceback shows the original, which has the secret."""
    import pyarrow as pa

    try:
        answer = call(*arguments, **options)
    except (OSError, pa.ArrowException) as error:
        failure = _failure(error)
    else:
        return Guarded(answer) if isinstance(answer, pa.NativeFile) else answer
    raise failure


def _failure(error: Exception) -> OSError:
    if not isinstance(error, OSError):
        return OSError(redacted(_first_line(error)))
    texts = [redacted(text) if isinstance(text, str) else text for text in error.args]
    return type(error)(*texts)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


@lru_cache(maxsize=8)
def object_store(uri: str) -> tuple[Guarded, str]:
    """A store, and the prefix in its spelling. Makes no request. Raises `UsageProblem`."""
    import pyarrow as pa
    from pyarrow import fs

    try:
        filesystem, root = fs.FileSystem.from_uri(uri)
    except (pa.ArrowException, ValueError) as error:
        reason = redacted(_first_line(error))
        raise UsageProblem(f"cannot use {uri.partition('?')[0]}: {reason}", hint=HINT) from None
    if urlsplit(uri).scheme in AZURE and (secret := azure_secret(os.environ)):
        filesystem = fs.AzureFileSystem(**azure_options(uri), **secret)
    return Guarded(filesystem), root.rstrip("/")


def azure_secret(environ: Mapping[str, str]) -> dict[str, str]:
    """As an argument of the file system; empty without a key or signature."""
    for name in AZURE_KEYS:
        if environ.get(name):
            return {"account_key": environ[name]}
    signature = environ.get(AZURE_SIGNATURE, "").strip().removeprefix("?")
    return {"sas_token": f"?{signature}"} if signature else {}  # pyarrow appends it to addresses as it is


def azure_options(uri: str) -> dict[str, str]:
    """The arguments that mean the same as the URI, which cannot have a key. Raises `UsageProblem`."""
    parts = urlsplit(uri)
    if not parts.username or not parts.hostname:
        raise UsageProblem(f"cannot use {uri.partition('?')[0]}: it names no account", hint=HINT)
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    scheme = "http" if query.get("enable_tls") == "false" else "https"
    properties = {"account_name": parts.hostname.partition(".")[0]}
    for service in ("blob", "dfs"):
        properties[f"{service}_storage_scheme"] = scheme
        if authority := query.get(f"{service}_storage_authority"):
            properties[f"{service}_storage_authority"] = authority
    return properties
