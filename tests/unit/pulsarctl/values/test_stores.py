"""URIs of stores."""

import pytest

from pulsarctl.errors import UsageProblem
from pulsarctl.values.stores import offload_settings


def test_a_directory_and_buckets_become_settings_of_their_driver() -> None:
    assert offload_settings("/var/tier") == offload_settings("file:///var/tier")
    assert offload_settings("file:///var/tier") == {
        "managedLedgerOffloadDriver": "filesystem",
        "fileSystemURI": "file:///var/tier",
    }
    assert offload_settings("gs://tier/a") == {
        "managedLedgerOffloadDriver": "google-cloud-storage",
        "gcsManagedLedgerOffloadBucket": "tier/a",
    }


def test_a_container_of_azure_may_have_an_endpoint() -> None:
    assert offload_settings("az://tier/a?endpoint_override=localhost:10000&scheme=http") == {
        "managedLedgerOffloadDriver": "azureblob",
        "managedLedgerOffloadBucket": "tier/a",
        "managedLedgerOffloadServiceEndpoint": "http://localhost:10000",
    }


def test_an_s3_uri_names_region_and_endpoint() -> None:
    assert offload_settings("s3://tier/a?endpoint_override=localhost:9000&scheme=http&region=eu") == {
        "managedLedgerOffloadDriver": "aws-s3",
        "s3ManagedLedgerOffloadBucket": "tier/a",
        "s3ManagedLedgerOffloadRegion": "eu",
        "s3ManagedLedgerOffloadServiceEndpoint": "http://localhost:9000",
    }


@pytest.mark.parametrize(
    "uri",
    [
        *("tier", "s3://", "ftp://x/y", "s3://key:secret@tier", "s3://tier?frobnicate=1"),
        *(
            "s3:/tier",
            "gs:tier",
            "az:/tier/a",
            "s3:///tier",
            "s3://tier/a#1",
            "file:///tier?a=1",
            "/tier#1",
            "file:tier",
        ),
    ],
)
def test_other_uris_are_refused(uri: str) -> None:
    with pytest.raises(UsageProblem):
        offload_settings(uri)


def test_the_first_directory_of_a_file_uri_is_not_taken_for_a_host() -> None:
    assert offload_settings("file://localhost/tier") == offload_settings("/tier")
    with pytest.raises(UsageProblem, match="it names the host var") as caught:
        offload_settings("file://var/tier")
    assert caught.value.hint == "use file:///var/tier"
