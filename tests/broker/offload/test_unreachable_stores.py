"""A store that refuses, is busy, slow, or gone: the truth is told, and everything else goes on."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from urllib.error import HTTPError

import pytest

from broker_core.storage.errors import Unreachable
from broker_core.topic.offloading import LAST_RETRY_SECONDS, OffloadState
from tests.broker.offload.conftest import BUCKET, S3
from tests.support.condition import wait_until
from tests.support.fault_proxy import Matches, Request
from tests.support.offloaded_topic import OffloadedTopic, in_directory, offloaded_topic, values


def test_an_offload_to_a_bucket_that_does_not_exist_says_so(one: OffloadedTopic, s3: S3) -> None:
    one.publish(values(10))
    policies = {
        "managedLedgerOffloadDriver": "aws-s3",
        "s3ManagedLedgerOffloadBucket": "no",
        "s3ManagedLedgerOffloadRegion": "us-east-1",
        "s3ManagedLedgerOffloadServiceEndpoint": s3.proxy.url,
    }
    one.rest("POST", "offloadPolicies", policies)
    one.start()
    one.wait()
    assert one.topic.offloading.last_error.endswith(": the store failed with NO_SUCH_BUCKET")
    assert len(one.entries()) == 10


@pytest.mark.parametrize(
    ("fault", "kind", "text"),
    [
        ("refuse", "ACCESS_DENIED", "the key was revoked"),
        ("busy", "SLOW_DOWN", "reduce your request rate"),
        ("drop", "NETWORK_CONNECTION", "curlCode"),
    ],
)
def test_an_upload_that_fails_is_an_error_whose_text_is_in_the_log_alone(
    one: OffloadedTopic, s3: S3, fault: str, kind: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    one.publish(values(10))
    with s3.proxy.doing(fault, s3.requests(one, "PUT", ".parquet")):
        one.start()
        one.wait()
    status = one.rest("GET", "offload")
    assert status["status"] == "ERROR"
    assert status["lastError"].endswith(f": the store failed with {kind}")
    assert text in caplog.text
    assert status["firstUnoffloadedMessage"]["ledgerId"] == one.log().ledger_infos()[0].id
    assert len(one.entries()) == 10
    one.offload()
    wait_until(lambda: len(s3.of(one)) == 2, 20)


def after_the_first(matches: Matches, then: Matches) -> Matches:
    """What `then` picks, from the second request on that `matches` picks."""
    found: list[Request] = []

    def picks(request: Request) -> bool:
        if matches(request):
            found.append(request)
        return len(found) > 1 and then(request)

    return picks


def test_credentials_that_expire_midway_keep_what_is_done_and_the_next_run_does_the_rest(
    one: OffloadedTopic, s3: S3
) -> None:
    one.publish(values(30))
    before = one.entries()
    uploads = s3.requests(one, "PUT", ".parquet")
    with s3.proxy.doing("refuse", after_the_first(uploads, lambda request: f"/{one.local_name}/" in request.path)):
        one.start()
        one.wait()
    first, second, _ = (info.id for info in one.log().ledger_infos())
    status = one.rest("GET", "offload")
    assert (status["status"], "ACCESS_DENIED" in status["lastError"]) == ("ERROR", True)
    assert status["firstUnoffloadedMessage"]["ledgerId"] == second
    one.broker.call(one.log().copies.drop_files([first]))
    assert one.entries() == before
    one.offload()
    one.drop_files()
    assert one.entries() == before
    wait_until(lambda: len(s3.of(one)) == 6, 20)


def test_while_a_store_refuses_one_topic_its_producers_and_other_topics_go_on(one: OffloadedTopic, s3: S3) -> None:
    other = OffloadedTopic(one.broker, one.client, f"{one.name}-other")
    other.client.subscribe(other.name, "keeps").close()
    before = one.publish_and_offload()
    with s3.proxy.doing("refuse", lambda request: f"/{one.local_name}/" in request.path):
        with pytest.raises(Unreachable, match="ACCESS_DENIED"):
            one.entries()
        one.publish(values(10))
        one.start()
        one.wait()
        assert one.topic.offloading.state is OffloadState.ERROR
        of_the_other = other.publish_and_offload()
        assert other.entries() == of_the_other
    assert one.entries()[:20] == before
    assert len(one.entries()) == 30


def test_after_each_failure_the_thresholds_wait_twice_as_long(tmp_path: Path) -> None:
    (tmp_path / "store").write_bytes(b"not a directory")
    with offloaded_topic(in_directory(tmp_path / "store", threshold_bytes=0)) as one:
        one.publish(values(10))
        wait_until(lambda: one.topic.offloading.last_failure_ms > 0, 30)
        offloading, waits = one.topic.offloading, []
        for _ in range(3):
            one.wait()
            one.start()
            one.wait()
            due = offloading.next_due(offloading.last_failure_ms)
            assert due is not None
            waits.append(due - offloading.last_failure_ms)
    assert all(later > 1.5 * earlier for earlier, later in pairwise(waits)), waits
    assert waits[-1] <= 1000 * LAST_RETRY_SECONDS


def test_a_store_that_does_not_answer_is_given_up_after_its_deadline(s3: S3, tmp_path: Path) -> None:
    with offloaded_topic(s3.config(request_timeout_ms=300), tmp_path / "d") as one:
        before = one.publish_and_offload(10)
        held = s3.requests(one, "GET", ".parquet")
        with s3.proxy.doing("hold", held), pytest.raises(Unreachable, match="cannot read ledger"):
            one.entries()
        assert one.entries() == before


def test_a_store_that_sends_some_bytes_a_second_is_given_up_after_its_deadline(s3: S3, tmp_path: Path) -> None:
    settings = s3.config(request_timeout_ms=300, connect_timeout_ms=300, prefetch_rounds=0)
    with offloaded_topic(settings, tmp_path / "d") as one:
        before = one.publish_and_offload(10)
        with (
            s3.proxy.doing("drip", s3.requests(one, "GET", ".parquet")),
            pytest.raises(Unreachable, match=r"did not complete its answer within 1\.8 seconds"),
        ):
            one.entries()
        assert one.entries() == before


def test_an_audit_of_a_listing_that_never_ends_fails_with_a_sentence(s3: S3, tmp_path: Path) -> None:
    settings = s3.config(request_timeout_ms=300, connect_timeout_ms=300)
    with offloaded_topic(settings, tmp_path / "d") as one:
        one.publish_and_offload(10)
        with (
            s3.proxy.doing("pages", lambda request: request.method == "GET" and request.path.strip("/") == BUCKET),
            pytest.raises(HTTPError) as caught,
        ):
            one.rest("POST", "/brokers/offload/audit")
        assert "did not complete its answer within" in caught.value.read().decode()


@pytest.mark.parametrize("fault", ["refuse", "busy", "cut"])
def test_a_store_that_fails_is_unreachable_and_read_again_when_it_is_back(
    one: OffloadedTopic, s3: S3, fault: str
) -> None:
    before = one.publish_and_offload()
    with (
        s3.proxy.doing(fault, s3.requests(one, "GET", ".parquet")),
        pytest.raises(Unreachable, match="cannot read ledger"),
    ):
        one.entries()
    assert one.entries() == before
    assert one.log().lost == []
