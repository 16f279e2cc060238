"""Object stores by their URI, through `pyarrow.fs`, with credentials from the environment.

The libraries of S3 and Google read all of them. Azure's reads those of a service principal or a managed identity. The
key of an account and a shared access signature are read here.
"""

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pulsarctl.errors import UsageProblem

AZURE = ("abfs", "abfss")
SCHEMES = ("s3", "gs", "gcs", *AZURE)
HINT = (
    "use a directory, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, or abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX"
)
AZURE_KEYS = ("AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_KEY")  # Pulsar's offloader has the first, az the second
AZURE_SIGNATURE = "AZURE_STORAGE_SAS_TOKEN"


class ObjectStore:
    """A file system of pyarrow whose failures are all OSErrors: Azure's are of other kinds, too."""

    def __init__(self, filesystem: Any) -> None:
        self._filesystem = filesystem

    def __getattr__(self, name: str) -> Any:
        import pyarrow as pa

        call = getattr(self._filesystem, name)

        def answered(*arguments: Any, **options: Any) -> Any:
            try:
                return call(*arguments, **options)
            except pa.ArrowException as error:
                raise OSError(str(error).splitlines()[0]) from error

        return answered


@lru_cache(maxsize=8)
def object_store(uri: str) -> tuple[ObjectStore, str]:
    """A store, and the prefix in its spelling. Makes no request. Raises `UsageProblem`."""
    import pyarrow as pa
    from pyarrow import fs

    try:
        filesystem, root = fs.FileSystem.from_uri(uri)
    except (pa.ArrowException, ValueError) as error:
        raise UsageProblem(f"cannot use {uri.partition('?')[0]}: {str(error).splitlines()[0]}", hint=HINT) from error
    if urlsplit(uri).scheme in AZURE and (secret := azure_secret(os.environ)):
        filesystem = fs.AzureFileSystem(**azure_options(uri), **secret)
    return ObjectStore(filesystem), root.rstrip("/")


def azure_secret(environ: Mapping[str, str]) -> dict[str, str]:
    """As an argument of the file system; empty without a key or signature."""
    for name in AZURE_KEYS:
        if environ.get(name):
            return {"account_key": environ[name]}
    return {"sas_token": environ[AZURE_SIGNATURE]} if environ.get(AZURE_SIGNATURE) else {}


def azure_options(uri: str) -> dict[str, str]:
    """The arguments that mean the same as the URI, which cannot have a key. Raises `UsageProblem`."""
    parts = urlsplit(uri)
    if not parts.username or not parts.hostname:
        raise UsageProblem(f"cannot use {uri.partition('?')[0]}: it names no account", hint=HINT)
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    scheme = "http" if query.get("enable_tls") == "false" else "https"
    found = {"account_name": parts.hostname.partition(".")[0]}
    for service in ("blob", "dfs"):
        found[f"{service}_storage_scheme"] = scheme
        if authority := query.get(f"{service}_storage_authority"):
            found[f"{service}_storage_authority"] = authority
    return found
