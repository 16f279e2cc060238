"""Stores of copies: a directory, or a bucket of S3, Google Cloud Storage, or Azure, all through `pyarrow.fs`.

A store is described by Pulsar's settings of its driver (docs, "Tiered storage"). Each copy records the settings that it
was written with, without secrets, so that it stays readable when the policy changes.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from broker_core.offload.errors import NotConfigured

FILESYSTEM, S3, GCS, AZURE = "filesystem", "aws-s3", "google-cloud-storage", "azureblob"
DRIVERS = (FILESYSTEM, S3, "S3", GCS, AZURE)

MISSING = "cannot use tiered storage: pyarrow is not installed; run `pip install 'pulsarctl[offload]'`"
SECRETS = frozenset({"s3ManagedLedgerOffloadCredentialId", "s3ManagedLedgerOffloadCredentialSecret"})

STORES_KEPT = 32
Settings = Mapping[str, str]


class StoreLimits(NamedTuple):
    """Deadlines of one request, in seconds."""

    connect_seconds: float = 10.0
    request_seconds: float = 30.0
    attempts: int = 3


class Store(NamedTuple):
    """`root`: the directory or bucket, as `pyarrow.fs` spells it; `uri`: the same for humans."""

    filesystem: Any
    root: str
    uri: str

    def key(self, path: str) -> str:
        return f"{self.root}/{path}"

    def describe(self, path: str) -> str:
        return f"{self.uri}/{path}"

    @property
    def has_root(self) -> bool:
        """Whether the bucket or directory is there; without it a missing object proves nothing. Raises OSError."""
        bucket = self.root if self.uri.startswith("file:") else self.root.split("/")[0]
        return bool(self.filesystem.get_file_info(bucket).type.value)

    def remove(self, path: str) -> None:
        """A missing object is fine. Raises OSError."""
        try:
            self.filesystem.delete_file(self.key(path))
        except FileNotFoundError:
            pass
        except OSError:
            if self.filesystem.get_file_info(self.key(path)).type.value:
                raise


def check_available() -> None:
    """Raises `NotConfigured` if pyarrow is missing."""
    if importlib.util.find_spec("pyarrow") is None:
        raise NotConfigured(MISSING)


def place_of(driver: str, settings: Settings) -> dict[str, str]:
    """What a copy records about its store: the settings that are set, without secrets. Raises `NotConfigured`."""
    check_driver(driver, settings)
    return {key: value for key, value in settings.items() if value and key not in SECRETS}


def check_driver(driver: str, settings: Settings) -> None:
    if not driver:
        raise NotConfigured(
            "cannot offload: no store is configured; set managedLedgerOffloadDriver, or an offload policy of the"
            " namespace or topic"
        )
    if driver not in DRIVERS:
        raise NotConfigured(f"cannot offload: {driver} is not a driver of this broker; use {', '.join(DRIVERS)}")
    if driver == FILESYSTEM:
        _directory(settings)
    elif not _bucket(driver, settings):
        raise NotConfigured(f"cannot offload: the driver {driver} needs a bucket; set {_BUCKET_KEYS[driver][0]}")


def open_store(driver: str, settings: Settings, limits: StoreLimits) -> Store:
    """Makes no request, but call it in a thread. Raises `NotConfigured`.

    A store is kept, since making one for S3 waits until no request of any other is on its way: with one that does not
    answer, readers of the others would wait, too.
    """
    check_available()
    check_driver(driver, settings)
    return _kept(driver, tuple(sorted(settings.items())), limits)


@lru_cache(maxsize=STORES_KEPT)
def _kept(driver: str, settings: tuple[tuple[str, str], ...], limits: StoreLimits) -> Store:
    return _OPEN[driver](dict(settings), limits)


# ---- drivers

_BUCKET_KEYS = {
    S3: ("s3ManagedLedgerOffloadBucket", "managedLedgerOffloadBucket"),
    "S3": ("managedLedgerOffloadBucket", "s3ManagedLedgerOffloadBucket"),
    GCS: ("gcsManagedLedgerOffloadBucket", "managedLedgerOffloadBucket"),
    AZURE: ("managedLedgerOffloadBucket",),
}


def _first(settings: Settings, *keys: str) -> str:
    return next((settings[key] for key in keys if settings.get(key)), "")


def _bucket(driver: str, settings: Settings) -> str:
    return _first(settings, *_BUCKET_KEYS[driver]).strip("/")


def _directory(settings: Settings) -> str:
    uri = settings.get("fileSystemURI", "")
    parts = urlsplit(uri)
    if parts.scheme not in ("", "file") or not parts.path.startswith("/"):
        raise NotConfigured(
            "cannot offload: the driver filesystem needs fileSystemURI with an absolute path, such as"
            f" file:///var/lib/offload, not {uri!r}"
        )
    return parts.path.rstrip("/")


def _open_directory(settings: Settings, limits: StoreLimits) -> Store:
    from pyarrow import fs  # optional, and slow to import

    path = _directory(settings)
    return Store(fs.LocalFileSystem(), path, f"file://{path}")


def _endpoint(settings: Settings, *keys: str) -> dict[str, str]:
    text = _first(settings, *keys)
    if not text:
        return {}
    parts = urlsplit(text if "://" in text else f"https://{text}")
    return {"endpoint_override": parts.netloc, "scheme": parts.scheme}


def _open_s3(settings: Settings, limits: StoreLimits) -> Store:
    from pyarrow import fs

    options: dict[str, Any] = _endpoint(
        settings, "s3ManagedLedgerOffloadServiceEndpoint", "managedLedgerOffloadServiceEndpoint"
    )
    if region := _first(settings, "s3ManagedLedgerOffloadRegion", "managedLedgerOffloadRegion"):
        options["region"] = region
    if role := settings.get("s3ManagedLedgerOffloadRole"):
        options["role_arn"] = role
        options["session_name"] = settings.get("s3ManagedLedgerOffloadRoleSessionName") or "pulsar-s3-offload"
    if identity := settings.get("s3ManagedLedgerOffloadCredentialId"):
        options["access_key"] = identity
        options["secret_key"] = settings.get("s3ManagedLedgerOffloadCredentialSecret", "")
    filesystem = fs.S3FileSystem(
        allow_delayed_open=True,  # a small object takes one request, not the three of a multipart upload
        connect_timeout=limits.connect_seconds,
        request_timeout=limits.request_seconds,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=limits.attempts),
        **options,
    )
    bucket = _bucket(S3, settings)
    return Store(filesystem, bucket, f"s3://{bucket}")


def _open_gcs(settings: Settings, limits: StoreLimits) -> Store:
    from datetime import timedelta

    from pyarrow import fs

    options: dict[str, Any] = _endpoint(settings, "managedLedgerOffloadServiceEndpoint")
    if key_file := settings.get("gcsManagedLedgerOffloadServiceAccountKeyFile"):
        os.environ.setdefault("GOOGLE_APPLICATION_CREDENTIALS", key_file)  # the only way that Google's library has
    elif options:
        options["anonymous"] = True  # an emulator
    filesystem = fs.GcsFileSystem(
        retry_time_limit=timedelta(seconds=limits.request_seconds * limits.attempts), **options
    )
    bucket = _bucket(GCS, settings)
    return Store(filesystem, bucket, f"gs://{bucket}")


def _open_azure(settings: Settings, limits: StoreLimits) -> Store:
    """Account and key come from the environment, as in Pulsar."""
    from pyarrow import fs

    account = os.environ.get("AZURE_STORAGE_ACCOUNT", "")
    if not account:
        raise NotConfigured("cannot offload: the driver azureblob needs the environment variable AZURE_STORAGE_ACCOUNT")
    options: dict[str, Any] = {}
    if endpoint := _endpoint(settings, "managedLedgerOffloadServiceEndpoint"):
        for service in ("blob", "dfs"):
            options[f"{service}_storage_authority"] = endpoint["endpoint_override"]
            options[f"{service}_storage_scheme"] = endpoint["scheme"]
    filesystem = fs.AzureFileSystem(account, account_key=os.environ.get("AZURE_STORAGE_ACCESS_KEY"), **options)
    bucket = _bucket(AZURE, settings)
    return Store(filesystem, bucket, f"abfs://{bucket}@{account}")


_OPEN = {FILESYSTEM: _open_directory, S3: _open_s3, "S3": _open_s3, GCS: _open_gcs, AZURE: _open_azure}
