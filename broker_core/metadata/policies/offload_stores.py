"""The location of the store of offload policies, and the stores that an operator lets policies name. Pure.

An administrator of a tenant sets offload policies, but the broker's own account writes there: without a limit, a
tenant could fill any directory of the machine, and send the broker's requests and credentials to any address.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, parse_qsl, urlsplit

from broker_core.config.offload import OffloadConfig
from broker_core.errors import InvalidConfiguration, InvalidValue
from broker_core.metadata.policies.offload_policies import OffloadPolicies, configured_store

FILESYSTEM, S3, GCS, AZURE = "filesystem", "aws-s3", "google-cloud-storage", "azureblob"
DRIVERS = (FILESYSTEM, S3, "S3", GCS, AZURE)
KEY = "offloadAllowedStores"
EVERY_STORE = "*"

S3_ID, S3_SECRET, S3_ROLE = (
    "s3ManagedLedgerOffloadCredentialId",
    "s3ManagedLedgerOffloadCredentialSecret",
    "s3ManagedLedgerOffloadRole",
)
GCS_KEY_FILE = "gcsManagedLedgerOffloadServiceAccountKeyFile"
Settings = Mapping[str, str]

BUCKET_KEYS = {
    S3: ("s3ManagedLedgerOffloadBucket", "managedLedgerOffloadBucket"),
    "S3": ("managedLedgerOffloadBucket", "s3ManagedLedgerOffloadBucket"),
    GCS: ("gcsManagedLedgerOffloadBucket", "managedLedgerOffloadBucket"),
    AZURE: ("managedLedgerOffloadBucket",),
}
_S3_ENDPOINT_KEYS = ("s3ManagedLedgerOffloadServiceEndpoint", "managedLedgerOffloadServiceEndpoint")
_ENDPOINT_KEYS = {S3: _S3_ENDPOINT_KEYS, "S3": _S3_ENDPOINT_KEYS}
REGION_KEYS = ("s3ManagedLedgerOffloadRegion", "managedLedgerOffloadRegion")
_REGION = re.compile(r"[A-Za-z0-9-]*")  # it becomes a part of a host name
_SCHEMES = {"file": FILESYSTEM, "s3": S3, "gs": GCS, "az": AZURE}


class NoOffloadStore(Exception):
    """The settings of a driver do not say where its store is; `str(error)` says why."""


class OffloadStore(NamedTuple):
    """`endpoint`: SCHEME://HOST:PORT; empty for that of the provider. `root`: the directory, or bucket and prefix."""

    driver: str
    endpoint: str
    root: str

    @classmethod
    def named_by(cls, driver: str, settings: Settings) -> "OffloadStore":
        """Raises `NoOffloadStore`."""
        if driver == FILESYSTEM:
            return cls(driver, "", _directory(settings.get("fileSystemURI", "")))
        bucket = first_of(settings, *BUCKET_KEYS.get(driver, ())).strip("/")
        if not bucket:
            raise NoOffloadStore(f"the driver {driver} needs a bucket; set {BUCKET_KEYS.get(driver, ('a driver',))[0]}")
        keys = _ENDPOINT_KEYS.get(driver, ("managedLedgerOffloadServiceEndpoint",))
        return cls(S3 if driver == "S3" else driver, _endpoint(first_of(settings, *keys)), bucket)

    @classmethod
    def of_uri(cls, uri: str) -> "OffloadStore":
        """The URIs of `pulsarctl ops offload --to`. Raises `NoOffloadStore`."""
        parts = _split(uri)
        driver = _SCHEMES.get(parts.scheme)
        query = dict(parse_qsl(parts.query))
        if driver == FILESYSTEM and not query and not parts.netloc:
            return cls(FILESYSTEM, "", _directory(uri))
        bucket = f"{parts.netloc}{parts.path}".strip("/") if parts.netloc and "@" not in parts.netloc else ""
        if driver in (None, FILESYSTEM) or not bucket or query.keys() - {"endpoint_override", "scheme", "region"}:
            raise NoOffloadStore(f"{uri!r} is not the URI of a store, such as file:///DIRECTORY or s3://BUCKET/PREFIX")
        endpoint = query.get("endpoint_override", "")
        if endpoint and "://" not in endpoint:
            endpoint = f"{query.get('scheme', 'https')}://{endpoint}"
        return cls(str(driver), _endpoint(endpoint), bucket)

    def is_within(self, other: "OffloadStore") -> bool:
        """Whether it is the same store, or a part of it. A path that leads outside itself is within none."""
        if {".", ".."} & set(self.root.split("/")) or not self.root.isprintable():
            return False
        same = (self.driver, self.endpoint) == (other.driver, other.endpoint)
        return same and f"{self.root}/".startswith(f"{other.root}/")

    def __str__(self) -> str:
        start = next(scheme for scheme, driver in _SCHEMES.items() if driver == self.driver)
        return f"{start}://{self.root}" + (f"?endpoint_override={self.endpoint}" if self.endpoint else "")


class AllowedStores(NamedTuple):
    """`own` is the store of the configuration, `listed` are others that the operator allows; `every` allows all."""

    own: OffloadStore | None = None
    listed: tuple[OffloadStore, ...] = ()
    every: bool = False
    key_file: str = ""

    @classmethod
    def of(cls, config: OffloadConfig) -> "AllowedStores":
        """Raises `InvalidConfiguration`."""
        entries = [entry for url in config.allowed_stores.split(",") if (entry := url.strip())]
        try:
            listed = tuple(OffloadStore.of_uri(entry) for entry in entries if entry != EVERY_STORE)
        except NoOffloadStore as error:
            raise InvalidConfiguration(f"{KEY}: {error}") from None
        store = configured_store(config)
        return cls(_place_of(store), listed, EVERY_STORE in entries, config.gcs_key_file)

    def check_policies(self, policies: OffloadPolicies) -> None:
        """Raises `InvalidValue`. Policies that name no store are fine, whatever else they lack."""
        place = _place_of(policies)
        if place is not None and (problem := self.problem_of(place, policies.settings())):
            raise InvalidValue(problem)

    def problem_of(self, target: OffloadStore, settings: Settings) -> str:
        """Why the broker does not write to a store; empty if it does."""
        known = [*self.listed, *([self.own] if self.own else ())]
        if not self.every and not any(target.is_within(store) for store in known):
            return f"this broker does not offload to {target}: its operator has to add the store to {KEY}"
        if settings.get(GCS_KEY_FILE, "") not in ("", self.key_file):
            return f"only the configuration of the broker can name a file of its machine ({GCS_KEY_FILE})"
        if not _REGION.fullmatch(first_of(settings, *REGION_KEYS)):
            return "the name of a region has only letters, digits, and '-'"
        return self.problem_of_credentials(target, settings)

    def problem_of_credentials(self, target: OffloadStore, settings: Settings) -> str:
        """Why a store is not opened: its endpoint is a policy's, and would get credentials of the broker."""
        if not target.endpoint or any(
            _endpoint_of(target) == _endpoint_of(store) for store in (*self.listed, self.own)
        ):
            return ""
        has_own = target.driver == S3 and settings.get(S3_ID) and settings.get(S3_SECRET) and not settings.get(S3_ROLE)
        if has_own or (target.driver == GCS and not settings.get(GCS_KEY_FILE)):  # the latter: without credentials
            return ""
        return (
            f"the endpoint {target.endpoint} gets no credentials of this broker: its operator has to add the store to"
            f" {KEY}, or the policy needs the access key of S3"
        )


def _place_of(policies: OffloadPolicies) -> OffloadStore | None:
    try:
        return OffloadStore.named_by(policies.driver, policies.settings()) if policies.driver else None
    except NoOffloadStore:
        return None


def _endpoint_of(place: OffloadStore | None) -> tuple[str, str]:
    return ("", "") if place is None else (place.driver, place.endpoint)


def first_of(settings: Settings, *keys: str) -> str:
    return next((settings[key] for key in keys if settings.get(key)), "")


def _directory(uri: str) -> str:
    parts = _split(uri)
    if parts.scheme not in ("", "file") or not parts.path.startswith("/"):
        raise NoOffloadStore(
            "the driver filesystem needs fileSystemURI with an absolute path, such as"
            f" file:///var/lib/offload, not {uri!r}"
        )
    return parts.path.rstrip("/")


def _endpoint(text: str) -> str:
    if not text:
        return ""
    parts = _split(text if "://" in text else f"https://{text}")
    if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc:
        raise NoOffloadStore(f"{text!r} is not an endpoint, such as https://HOST:PORT")
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _split(text: str) -> SplitResult:
    try:
        return urlsplit(text)
    except ValueError as error:
        raise NoOffloadStore(f"{text!r} is not a URI: {error}") from error
