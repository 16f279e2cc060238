"""The recorded actions of the official Python client; `TEXTS` are the payloads that tests expect."""

import subprocess
import tempfile
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pulsar

TEXTS = [f"reading {number}: 21.5 degrees, 21.5 degrees, 21.5 degrees".encode() for number in range(10)]
CHUNKED = bytes(range(256)) * 200
TIMEOUT_MS = 20_000
CODECS = {
    "none": pulsar.CompressionType.NONE,
    "lz4": pulsar.CompressionType.LZ4,
    "zlib": pulsar.CompressionType.ZLib,
    "zstd": pulsar.CompressionType.ZSTD,
    "snappy": pulsar.CompressionType.SNAPPY,
}


@contextmanager
def connected(url: str, topic: str | None = None) -> Iterator[tuple[pulsar.Client, str]]:
    client = pulsar.Client(url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    yield client, topic or f"persistent://public/default/{uuid.uuid4()}"
    client.close()


def send_all(producer: Any, properties: bool = False) -> None:
    for number, text in enumerate(TEXTS):
        more = {"properties": {"station": "Zürich", "n": str(number)}} if properties else {}
        producer.send_async(
            text,
            lambda *_: None,
            partition_key=f"key-{number % 3}",
            event_timestamp=1_700_000_000_000 + number,
            **more,
        )
    producer.flush()


def receive_all(consumer: Any, count: int = len(TEXTS)) -> None:
    for _ in range(count):
        consumer.acknowledge(consumer.receive(TIMEOUT_MS))


def unbatched(url: str, web: str | None) -> None:
    with connected(url) as (client, topic):
        consumer = client.subscribe(topic, "recorded")
        producer = client.create_producer(topic, producer_name="recorder", batching_enabled=False)
        send_all(producer, properties=True)
        producer.send(b"", ordering_key="order")
        receive_all(consumer, len(TEXTS) + 1)
        consumer.close()


def batched(codec: str, url: str, web: str | None) -> None:
    with connected(url) as (client, topic):
        consumer = client.subscribe(topic, "recorded", consumer_type=pulsar.ConsumerType.Shared)
        producer = client.create_producer(
            topic, batching_enabled=True, batching_max_publish_delay_ms=1000, compression_type=CODECS[codec]
        )
        send_all(producer, properties=True)
        receive_all(consumer)
        consumer.unsubscribe()


def compressed_unbatched(codec: str, url: str, web: str | None) -> None:
    with connected(url) as (client, topic):
        reader = client.create_reader(topic, pulsar.MessageId.earliest)
        producer = client.create_producer(topic, batching_enabled=False, compression_type=CODECS[codec])
        send_all(producer)
        while reader.has_message_available():
            reader.read_next(TIMEOUT_MS)
        reader.seek(pulsar.MessageId.earliest)
        reader.read_next(TIMEOUT_MS)


def encrypted(url: str, web: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        private, public = Path(folder, "private.pem"), Path(folder, "public.pem")
        subprocess.run(["openssl", "genrsa", "-out", private, "2048"], check=True, capture_output=True)
        subprocess.run(["openssl", "rsa", "-in", private, "-pubout", "-out", public], check=True, capture_output=True)
        keys = pulsar.CryptoKeyReader(str(public), str(private))
        with connected(url) as (client, topic):
            consumer = client.subscribe(topic, "recorded", crypto_key_reader=keys)
            producer = client.create_producer(
                topic,
                batching_enabled=True,
                batching_max_publish_delay_ms=1000,
                compression_type=pulsar.CompressionType.LZ4,
                encryption_key="recorder",
                crypto_key_reader=keys,
            )
            send_all(producer)
            receive_all(consumer)


def chunked(url: str, web: str | None) -> None:
    with connected(url) as (client, topic):
        consumer = client.subscribe(topic, "recorded")
        producer = client.create_producer(topic, batching_enabled=False, chunking_enabled=True)
        producer.send(CHUNKED)
        receive_all(consumer, 1)


def redelivered(url: str, web: str | None) -> None:
    with connected(url) as (client, topic):
        consumer = client.subscribe(
            topic,
            "recorded",
            consumer_type=pulsar.ConsumerType.Shared,
            negative_ack_redelivery_delay_ms=100,
        )
        producer = client.create_producer(topic, batching_enabled=False)
        send_all(producer)
        for _ in TEXTS:
            consumer.negative_acknowledge(consumer.receive(TIMEOUT_MS))
        receive_all(consumer)


def partitioned(url: str, web: str | None) -> None:
    if web is None:
        raise SystemExit("--web is needed to create a partitioned topic")
    path = f"public/default/{uuid.uuid4()}"
    request = urllib.request.Request(
        f"http://{web}/admin/v2/persistent/{path}/partitions",
        method="PUT",
        data=b"3",
        headers={"Content-Type": "application/json"},
    )
    urllib.request.urlopen(request).close()
    with connected(url, f"persistent://{path}") as (client, topic):
        consumer = client.subscribe(topic, "recorded")
        producer = client.create_producer(topic, batching_enabled=False)
        send_all(producer)
        receive_all(consumer)


SCENARIOS: dict[str, Callable[[str, str | None], None]] = {
    "unbatched": unbatched,
    **{f"batched_{codec}": partial(batched, codec) for codec in CODECS},
    **{f"unbatched_{codec}": partial(compressed_unbatched, codec) for codec in CODECS if codec != "none"},
    "encrypted": encrypted,
    "chunked": chunked,
    "redelivered": redelivered,
    "partitioned": partitioned,
}
