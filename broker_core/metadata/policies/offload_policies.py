"""Pulsar's OffloadPolicies object, and what it makes of a topic together with the older settings beside it. Pure.

A member that is not set falls back to the configuration. The thresholds and the deletion lag also exist as policies of
their own, which count where the object does not set them (Pulsar docs, "Tiered storage").
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from broker_core.config.frozen import frozen
from broker_core.config.offload import LOCAL_FIRST, TIERED_FIRST, OffloadConfig
from broker_core.errors import InvalidRequest, InvalidValue
from broker_core.metadata.policies.json_values import int32, name_or_none, string, whole_number
from broker_core.metadata.policies.values import PolicyObject, member

DRIVERS = ("S3", "aws-s3", "google-cloud-storage", "filesystem", "azureblob", "aliyun-oss")
UNSUPPORTED = "aliyun-oss"
_SHOWN = {TIERED_FIRST: "TIERED_STORAGE_FIRST", LOCAL_FIRST: "BOOKKEEPER_FIRST"}  # as Pulsar answers
_PRIORITY = name_or_none(*_SHOWN, *_SHOWN.values())
_BUCKETS = {
    "aws-s3": ("s3ManagedLedgerOffloadBucket", "managedLedgerOffloadBucket"),
    "google-cloud-storage": ("gcsManagedLedgerOffloadBucket", "managedLedgerOffloadBucket"),
}


def _priority(value: Any, name: str) -> str | None:
    text = _PRIORITY(value, name)
    return next((key for key, shown in _SHOWN.items() if text in (key, shown)), None)


@frozen
class OffloadPolicies(PolicyObject):
    """None means not set. The secret of S3 is stored and shown as in Pulsar; it is safer in the environment."""

    driver: str | None = member("managedLedgerOffloadDriver", string, None)
    max_threads: int | None = member("managedLedgerOffloadMaxThreads", int32, None)
    read_threads: int | None = member("managedLedgerOffloadReadThreads", int32, None)
    prefetch_rounds: int | None = member("managedLedgerOffloadPrefetchRounds", int32, None)
    threshold_bytes: int | None = member("managedLedgerOffloadThresholdInBytes", whole_number, None)
    threshold_seconds: int | None = member("managedLedgerOffloadThresholdInSeconds", whole_number, None)
    deletion_lag_ms: int | None = member("managedLedgerOffloadDeletionLagInMillis", whole_number, None)
    read_priority: str | None = member("managedLedgerOffloadedReadPriority", _priority, None)
    s3_region: str | None = member("s3ManagedLedgerOffloadRegion", string, None)
    s3_bucket: str | None = member("s3ManagedLedgerOffloadBucket", string, None)
    s3_endpoint: str | None = member("s3ManagedLedgerOffloadServiceEndpoint", string, None)
    s3_block_size: int | None = member("s3ManagedLedgerOffloadMaxBlockSizeInBytes", int32, None)
    s3_buffer_size: int | None = member("s3ManagedLedgerOffloadReadBufferSizeInBytes", int32, None)
    s3_credential_id: str | None = member("s3ManagedLedgerOffloadCredentialId", string, None)
    s3_credential_secret: str | None = member("s3ManagedLedgerOffloadCredentialSecret", string, None)
    s3_role: str | None = member("s3ManagedLedgerOffloadRole", string, None)
    s3_session: str | None = member("s3ManagedLedgerOffloadRoleSessionName", string, None)
    gcs_region: str | None = member("gcsManagedLedgerOffloadRegion", string, None)
    gcs_bucket: str | None = member("gcsManagedLedgerOffloadBucket", string, None)
    gcs_block_size: int | None = member("gcsManagedLedgerOffloadMaxBlockSizeInBytes", int32, None)
    gcs_buffer_size: int | None = member("gcsManagedLedgerOffloadReadBufferSizeInBytes", int32, None)
    gcs_key_file: str | None = member("gcsManagedLedgerOffloadServiceAccountKeyFile", string, None)
    filesystem_profile: str | None = member("fileSystemProfilePath", string, None)
    filesystem_uri: str | None = member("fileSystemURI", string, None)
    bucket: str | None = member("managedLedgerOffloadBucket", string, None)
    region: str | None = member("managedLedgerOffloadRegion", string, None)
    endpoint: str | None = member("managedLedgerOffloadServiceEndpoint", string, None)
    block_size: int | None = member("managedLedgerOffloadMaxBlockSizeInBytes", int32, None)
    buffer_size: int | None = member("managedLedgerOffloadReadBufferSizeInBytes", int32, None)

    @classmethod
    def from_document(cls, document: Any, name: str = "offloadPolicies") -> Self:
        policies = super(OffloadPolicies, cls).from_document(document, name)  # noqa: UP008  # slots make a new class
        policies.check()
        return policies

    def check(self) -> None:
        """Raises what Pulsar answers. Without a driver the object only sets thresholds."""
        if not self.driver:
            return
        if self.driver not in DRIVERS:
            raise InvalidValue(f"The driver is not supported, support value: {','.join(DRIVERS)}")
        if self.driver == UNSUPPORTED:
            raise InvalidRequest(f"this broker does not support the offload driver {UNSUPPORTED}; use S3")
        if self.driver != "filesystem" and not any(map(self.settings().get, self._bucket_keys())):
            raise InvalidValue("The bucket must be specified for namespace offload.")

    def _bucket_keys(self) -> tuple[str, ...]:
        return _BUCKETS.get(self.driver or "", ("managedLedgerOffloadBucket", "s3ManagedLedgerOffloadBucket"))

    def to_document(self) -> dict[str, Any]:
        document = super(OffloadPolicies, self).to_document()  # noqa: UP008  # slots make a new class
        if self.read_priority is not None:
            document["managedLedgerOffloadedReadPriority"] = _SHOWN[self.read_priority]
        return document

    def settings(self) -> dict[str, str]:
        """The members that say where the store is and how to get in."""
        values = super(OffloadPolicies, self).to_document()  # noqa: UP008  # slots make a new class
        return {key: value for key, value in values.items() if isinstance(value, str) and key not in _NOT_OF_STORE}


_NOT_OF_STORE = frozenset({"managedLedgerOffloadDriver", "managedLedgerOffloadedReadPriority"})


def configured_store(offload: OffloadConfig) -> OffloadPolicies:
    """The store of the configuration, as a policy."""
    return OffloadPolicies(
        driver=offload.driver or None,
        read_priority=offload.read_priority,
        s3_region=offload.s3_region or None,
        s3_bucket=offload.s3_bucket or None,
        s3_endpoint=offload.s3_endpoint or None,
        s3_role=offload.s3_role or None,
        s3_session=offload.s3_session or None,
        gcs_bucket=offload.gcs_bucket or None,
        gcs_key_file=offload.gcs_key_file or None,
        filesystem_uri=offload.filesystem_uri or None,
        bucket=offload.bucket or None,
        region=offload.region or None,
        endpoint=offload.endpoint or None,
    )


class OffloadRules(NamedTuple):
    """The rules in force for a topic. A threshold or a lag below 0 means never."""

    driver: str
    settings: Mapping[str, str]
    threshold_bytes: int
    threshold_seconds: int
    deletion_lag_ms: int
    copies_first: bool

    @property
    def is_automatic(self) -> bool:
        return bool(self.driver) and (self.threshold_bytes >= 0 or self.threshold_seconds >= 0)


def rules_of(
    policies: OffloadPolicies,
    threshold_bytes: int,
    threshold_seconds: int,
    deletion_lag_ms: int,
    config: OffloadConfig,
) -> OffloadRules:
    """`policies` in force, and the settings beside them, which count where `policies` set nothing.

    An object that names a driver also says where its store is; any other one uses the store of the configuration.
    """
    store = policies if policies.driver else configured_store(config)
    return OffloadRules(
        driver=store.driver or "",
        settings=store.settings(),
        threshold_bytes=_set(policies.threshold_bytes, threshold_bytes),
        threshold_seconds=_set(policies.threshold_seconds, threshold_seconds),
        deletion_lag_ms=_set(policies.deletion_lag_ms, deletion_lag_ms),
        copies_first=(policies.read_priority or config.read_priority) == TIERED_FIRST,
    )


def _set(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value
