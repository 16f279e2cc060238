"""Which stores offload policies may name, and which endpoints get credentials of the broker."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.config.offload import OffloadConfig
from broker_core.errors import InvalidConfiguration, InvalidValue
from broker_core.metadata.policies.offload_policies import OffloadPolicies
from broker_core.metadata.policies.offload_stores import (
    GCS_KEY_FILE,
    S3_ID,
    S3_ROLE,
    S3_SECRET,
    AllowedStores,
    OffloadStore,
)
from pulsarctl.values.stores import offload_settings

MINIO = "http://minio:9000"
LISTED = (
    "file:///srv/tier, s3://open/team, gs://shared, az://box/a,"
    " s3://open/minio?endpoint_override=minio:9000&scheme=http&region=eu"
)
OWN = OffloadConfig(driver="filesystem", filesystem_uri="file:///var/lib/offload", allowed_stores=LISTED)


def policies(driver: str, **settings: str) -> OffloadPolicies:
    return OffloadPolicies.from_document({"managedLedgerOffloadDriver": driver, **settings})


def directory(path: str) -> OffloadPolicies:
    return policies("filesystem", fileSystemURI=path)


def bucket(name: str, endpoint: str = "", **more: str) -> OffloadPolicies:
    where = {"s3ManagedLedgerOffloadBucket": name, "s3ManagedLedgerOffloadServiceEndpoint": endpoint}
    return policies("aws-s3", **{key: value for key, value in where.items() if value}, **more)


@pytest.mark.parametrize(
    "named",
    [
        directory("file:///var/lib/offload"),
        directory("/var/lib/offload/"),
        directory("file:///var/lib/offload/team"),
        directory("file:///srv/tier/a/b"),
        bucket("open/team"),
        bucket("open/team/2026", s3ManagedLedgerOffloadRegion="eu-west-1"),
        bucket("open/minio", MINIO),
        bucket("open/minio", "HTTP://MINIO:9000/"),
        policies("S3", managedLedgerOffloadBucket="open/minio", managedLedgerOffloadServiceEndpoint=MINIO),
        policies("google-cloud-storage", gcsManagedLedgerOffloadBucket="shared/x"),
        policies("azureblob", managedLedgerOffloadBucket="box/a"),
        policies("filesystem"),  # it names no store, and cannot be used
        OffloadPolicies(threshold_bytes=1),
    ],
)
def test_policies_may_name_the_own_store_and_listed_ones(named: OffloadPolicies) -> None:
    AllowedStores.of(OWN).check_policies(named)


@pytest.mark.parametrize(
    "named",
    [
        directory("file:///"),
        directory("file:///etc"),
        directory("file:///srv"),
        directory("file:///srv/tier2"),
        directory("file:///srv/tier/../../etc"),
        directory("file:///srv/tier/."),
        directory("file:///srv/tier/a\x00b"),
        bucket("open"),
        bucket("open/teams"),
        bucket("open/team/../other"),
        bucket("open/team", MINIO),
        bucket("open/minio", "https://minio:9000"),
        bucket("open/minio", "http://minio:9001"),
        bucket("open/minio", "http://127.0.0.1:6379"),
        bucket("open/minio"),
        bucket("open/team", s3ManagedLedgerOffloadRegion="x@evil.example/#"),
        policies("google-cloud-storage", gcsManagedLedgerOffloadBucket="shared", **{GCS_KEY_FILE: "/etc/shadow"}),
        policies("azureblob", managedLedgerOffloadBucket="box/a", managedLedgerOffloadServiceEndpoint=MINIO),
    ],
)
def test_policies_may_name_no_other_store(named: OffloadPolicies) -> None:
    with pytest.raises(InvalidValue):
        AllowedStores.of(OWN).check_policies(named)


def test_by_default_only_the_store_of_the_configuration_is_allowed() -> None:
    with pytest.raises(InvalidValue, match=r"this broker does not offload to file:///x: its operator .* to offloadAll"):
        AllowedStores.of(OffloadConfig()).check_policies(directory("file:///x"))


@pytest.mark.parametrize(
    ("named", "is_opened"),
    [
        (bucket("b", MINIO), False),
        (bucket("b", MINIO, **{S3_ID: "own"}), False),
        (bucket("b", MINIO, **{S3_ID: "own", S3_SECRET: "key"}), True),
        (bucket("b", MINIO, **{S3_ID: "own", S3_SECRET: "key", S3_ROLE: "role"}), False),
        (bucket("b"), True),  # the provider itself
        (policies("azureblob", managedLedgerOffloadBucket="b", managedLedgerOffloadServiceEndpoint=MINIO), False),
        (
            policies(
                "google-cloud-storage",
                managedLedgerOffloadBucket="b",
                managedLedgerOffloadServiceEndpoint=MINIO,
            ),
            True,  # without credentials
        ),
    ],
)
def test_where_every_store_is_allowed_an_endpoint_of_a_policy_gets_no_credentials_of_the_broker(
    named: OffloadPolicies, *, is_opened: bool
) -> None:
    allowed = AllowedStores.of(OffloadConfig(allowed_stores="*"))
    problem = allowed.problem_of(OffloadStore.named_by(named.driver or "", named.settings()), named.settings())
    assert (problem == "") is is_opened, problem


def test_a_list_that_names_no_store_ends_the_start() -> None:
    with pytest.raises(InvalidConfiguration, match=r"^offloadAllowedStores: 'tier' is not the URI of a store"):
        AllowedStores.of(OffloadConfig(allowed_stores="file:///a, tier"))


@pytest.mark.parametrize(
    "uri",
    [
        "file:///var/tier",
        "s3://tier/a/b",
        "s3://tier?endpoint_override=localhost:9000&scheme=http&region=eu",
        "s3://tier?endpoint_override=https://s3.example",
        "gs://tier/a?endpoint_override=localhost:1&scheme=http",
        "az://tier/a?endpoint_override=localhost:1&scheme=http",
    ],
)
def test_the_command_line_and_the_list_name_a_store_alike(uri: str) -> None:
    settings = offload_settings(uri)
    assert OffloadStore.named_by(settings["managedLedgerOffloadDriver"], settings) == OffloadStore.of_uri(uri)


@given(st.lists(st.sampled_from(["..", ".", "a", "tier", "", "%2e%2e", "srv", "\\..", "..;", "\n"]), max_size=6))
def test_no_directory_within_the_list_leads_out_of_it(parts: list[str]) -> None:
    path = "/".join(("/srv/tier", *parts))
    place = OffloadStore.named_by("filesystem", {"fileSystemURI": f"file://{path}"})
    if place.is_within(OffloadStore("filesystem", "", "/srv/tier")):
        assert ".." not in place.root.split("/")
        assert place.root.startswith("/srv/tier")
