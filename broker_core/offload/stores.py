"""Stores of copies: a directory, or a bucket of S3, Google Cloud Storage, or Azure, all through `pyarrow.fs`.

A store is described by Pulsar's settings of its driver (docs, "Tiered storage"). Each copy records the settings that it
was written with, without secrets, so that it stays readable when the policy changes.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import os
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from broker_core.metadata.policies.offload_stores import (
    AZURE,
    DRIVERS,
    FILESYSTEM,
    GCS,
    GCS_KEY_FILE,
    REGION_KEYS,
    S3,
    S3_ID,
    S3_ROLE,
    S3_SECRET,
    NoOffloadStore,
    OffloadStore,
    Settings,
    first_of,
)
from broker_core.offload.errors import NotConfigured

MISSING = "pyarrow is not installed; run `pip install 'pulsarctl[offload]'`"
SECRETS = frozenset({S3_ID, S3_SECRET})

STORES_KEPT = 32


class StoreLimits(NamedTuple):
    """Deadlines of one request, in seconds: for a connection, and without data."""

    connect_seconds: float = 10.0
    request_seconds: float = 30.0
    attempts: int = 3

    @property
    def call_seconds(self) -> float:
        """For a call that makes a few requests, whatever arrives in the meantime."""
        return (self.connect_seconds + self.request_seconds) * self.attempts

    @property
    def listing_seconds(self) -> float:
        """For a list of all objects of an instance; twice this is less than the 300 that pulsarctl waits."""
        return self.call_seconds * 1.2


class Store(NamedTuple):
    """`root`: the directory or bucket, as `pyarrow.fs` spells it; `uri`: the same for humans."""

    filesystem: Any
    root: str
    uri: str

    def key(self, path: str) -> str:
        return f"{self.root}/{path}"

    def own_key(self, path: str) -> str:
        """The key of what is written or removed. Raises OSError if a link leads out of the directory."""
        if self.leads_out(path.rpartition("/")[0]):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), self.key(path))
        return self.key(path)

    def leads_out(self, folder: str) -> bool:
        """Whether the folder, or one above it, is a link. The root may be one: the operator named it."""
        if {".", ".."} & set(folder.split("/")):
            return True
        if not self.uri.startswith("file:"):
            return False
        return os.path.realpath(self.key(folder)) != os.path.join(os.path.realpath(self.root), folder).rstrip("/")

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
            self.filesystem.delete_file(self.own_key(path))
        except FileNotFoundError:
            pass
        except OSError:
            if self.filesystem.get_file_info(self.key(path)).type.value:
                raise

    def remove_folders(self, folder: str) -> None:
        """Removes an empty folder, and the empty folders above it. Raises OSError.

        Object stores have no folders, but Arrow writes an empty object for one when it deletes the last object in it.
        The caller ensures that no upload writes below these folders: Arrow would delete its objects.
        """
        from pyarrow import fs  # optional, and slow to import

        while folder:
            if self.filesystem.get_file_info(fs.FileSelector(self.key(folder), allow_not_found=True)):
                return
            with contextlib.suppress(FileNotFoundError):
                self.filesystem.delete_dir(self.own_key(f"{folder}/").rstrip("/"))
            folder = folder.rpartition("/")[0]


def check_available() -> None:
    """Raises `NotConfigured` if pyarrow is missing."""
    if importlib.util.find_spec("pyarrow") is None:
        raise NotConfigured(MISSING)


def place_of(driver: str, settings: Settings) -> dict[str, str]:
    """The settings that a copy records about its store: those that are set, without secrets. Raises `NotConfigured`."""
    check_driver(driver, settings)
    return {key: value for key, value in settings.items() if value and key not in SECRETS}


def check_driver(driver: str, settings: Settings) -> OffloadStore:
    """The location of the store. Raises `NotConfigured`."""
    if not driver:
        raise NotConfigured(
            "no store is configured; set managedLedgerOffloadDriver, or an offload policy of the namespace or topic"
        )
    if driver not in DRIVERS:
        raise NotConfigured(f"{driver} is not a driver of this broker; use {', '.join(DRIVERS)}")
    try:
        return OffloadStore.named_by(driver, settings)
    except NoOffloadStore as error:
        raise NotConfigured(str(error)) from None


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
    named = dict(settings)
    return _OPEN[driver](check_driver(driver, named), named, limits)


# ---- drivers


def _open_directory(target: OffloadStore, settings: Settings, limits: StoreLimits) -> Store:
    from pyarrow import fs  # optional, and slow to import

    return Store(fs.LocalFileSystem(), target.root, f"file://{target.root}")


def _endpoint(target: OffloadStore) -> dict[str, str]:
    parts = urlsplit(target.endpoint)
    return {"endpoint_override": parts.netloc, "scheme": parts.scheme} if target.endpoint else {}


def _open_s3(target: OffloadStore, settings: Settings, limits: StoreLimits) -> Store:
    from pyarrow import fs

    options: dict[str, Any] = _endpoint(target)
    if region := first_of(settings, *REGION_KEYS):
        options["region"] = region
    if role := settings.get(S3_ROLE):
        options["role_arn"] = role
        options["session_name"] = settings.get("s3ManagedLedgerOffloadRoleSessionName") or "pulsar-s3-offload"
    if identity := settings.get(S3_ID):
        options["access_key"] = identity
        options["secret_key"] = settings.get(S3_SECRET, "")
    filesystem = fs.S3FileSystem(
        allow_delayed_open=True,  # a small object takes one request, not the three of a multipart upload
        connect_timeout=limits.connect_seconds,
        request_timeout=limits.request_seconds,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=limits.attempts),
        **options,
    )
    return Store(filesystem, target.root, f"s3://{target.root}")


def _open_gcs(target: OffloadStore, settings: Settings, limits: StoreLimits) -> Store:
    from datetime import timedelta

    from pyarrow import fs

    options: dict[str, Any] = _endpoint(target)
    if key_file := settings.get(GCS_KEY_FILE):
        os.environ.setdefault("GOOGLE_APPLICATION_CREDENTIALS", key_file)  # the only way that Google's library has
    elif options:
        options["anonymous"] = True  # an emulator
    filesystem = fs.GcsFileSystem(
        retry_time_limit=timedelta(seconds=limits.request_seconds * limits.attempts), **options
    )
    return Store(filesystem, target.root, f"gs://{target.root}")


def _open_azure(target: OffloadStore, settings: Settings, limits: StoreLimits) -> Store:
    """Account and key come from the environment, as in Pulsar."""
    from pyarrow import fs

    account = os.environ.get("AZURE_STORAGE_ACCOUNT", "")
    if not account:
        raise NotConfigured("the driver azureblob needs the environment variable AZURE_STORAGE_ACCOUNT")
    options: dict[str, Any] = {}
    if endpoint := _endpoint(target):
        for service in ("blob", "dfs"):
            options[f"{service}_storage_authority"] = endpoint["endpoint_override"]
            options[f"{service}_storage_scheme"] = endpoint["scheme"]
    filesystem = fs.AzureFileSystem(account, account_key=os.environ.get("AZURE_STORAGE_ACCESS_KEY"), **options)
    return Store(filesystem, target.root, f"abfs://{target.root}@{account}")


_OPEN = {FILESYSTEM: _open_directory, S3: _open_s3, "S3": _open_s3, GCS: _open_gcs, AZURE: _open_azure}
