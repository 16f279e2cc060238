"""An offload leaves the broker room for its clients."""

from __future__ import annotations

import random
import time
from pathlib import Path

from tests.broker.offload.conftest import S3
from tests.support.offloaded_topic import OffloadedTopic, in_directory, offloaded_topic, values


def test_producers_go_on_while_an_upload_waits(one: OffloadedTopic, s3: S3) -> None:
    one.publish(values(10))
    with s3.proxy.doing("hold", s3.requests(one, "PUT", ".parquet")):
        one.start()
        assert s3.proxy.held.wait(30)
        one.publish(values(10))
        assert one.topic.offloading.is_running
        s3.proxy.release()
        one.wait()
    assert len(one.entries()) == 20


def test_no_more_topics_offload_at_a_time_than_allowed(s3: S3, tmp_path: Path) -> None:
    with offloaded_topic(s3.config(max_threads=1), tmp_path / "d") as one:
        other = OffloadedTopic(one.broker, one.client, f"{one.name}-other")
        other.client.subscribe(other.name, "keeps").close()
        for topic in (one, other):
            topic.publish(values(10))
        with s3.proxy.doing("hold", s3.requests(one, "PUT", ".parquet")):
            one.start()
            assert s3.proxy.held.wait(30)
            other.start()
            before = len(s3.proxy.requests)
            other.publish(values(10))
            assert other.topic.offloading.is_running
            assert not [each for each in s3.proxy.requests[before:] if f"/{other.local_name}/" in each.path]
            s3.proxy.release()
            one.wait()
            other.wait()
        assert len(s3.of(other)) == 2


def test_an_upload_keeps_to_its_rate(tmp_path: Path) -> None:
    with offloaded_topic(in_directory(tmp_path / "store", upload_mb_per_second=8)) as one:
        one.publish([random.Random(number).randbytes(400_000) for number in range(10)])  # does not compress
        started = time.monotonic()
        one.offload()
        assert time.monotonic() - started >= 4_000_000 / (8 << 20)


def test_publishing_stays_fast_while_much_is_offloaded(tmp_path: Path) -> None:
    with offloaded_topic(in_directory(tmp_path / "store")) as one:
        one.publish([random.Random(number).randbytes(1_000_000) for number in range(30)])
        producer = one.client.create_producer(one.name, batching_enabled=False)
        one.start()
        latencies: list[float] = []
        while one.topic.offloading.is_running or len(latencies) < 20:
            started = time.monotonic()
            producer.send(b"x")
            latencies.append(time.monotonic() - started)
        producer.close()
        one.wait()
        assert len(list((tmp_path / "store").rglob("*.parquet"))) >= 3
    assert sorted(latencies)[len(latencies) // 2] < 0.5
