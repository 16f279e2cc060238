"""The registry with a real metadata store: version numbers, identity, and concurrent requests."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from broker_core.broker import Broker
from broker_core.config.broker import BrokerConfig
from broker_core.config.features import SchemaConfig
from broker_core.errors import InvalidSchema
from broker_core.metadata.schema.registry import SchemaRegistry
from broker_core.metadata.schema.schema_data import SchemaData
from broker_core.metadata.schema.schema_type import SchemaType
from broker_core.metadata.schema.strategy import Strategy
from broker_core.names import parse_topic
from tests.support.held_disk import HeldDisk
from tests.unit.broker_core.metadata.schema.definitions import avro, string

TOPIC = parse_topic("t")


@pytest.fixture
async def registry(tmp_path: Path) -> AsyncIterator[SchemaRegistry]:
    broker = Broker(BrokerConfig())
    await broker.start(tmp_path)
    yield broker.schemas
    await broker.stop()


async def test_concurrent_uploads_of_the_same_schema_create_one_version(registry: SchemaRegistry) -> None:
    versions = await asyncio.gather(*(registry.put(TOPIC, avro("a"), Strategy.FULL) for _ in range(20)))
    assert set(versions) == {0}


async def test_concurrent_uploads_are_checked_against_each_other(registry: SchemaRegistry) -> None:
    await registry.put(TOPIC, avro("a"), Strategy.BACKWARD)
    both = (registry.put(TOPIC, avro(one), Strategy.BACKWARD) for one in ("a b=", "a b= c="))
    assert sorted(await asyncio.gather(*both)) == [1, 2]
    both = (registry.put(TOPIC, schema, Strategy.FULL) for schema in (avro("x="), string()))
    refused = await asyncio.gather(*both, return_exceptions=True)
    assert sum(isinstance(one, Exception) for one in refused) == 2


async def test_a_long_definition_does_not_block_the_event_loop(registry: SchemaRegistry) -> None:
    long = asyncio.create_task(
        registry.put(TOPIC, avro(" ".join(f"f{number}=" for number in range(8000))), Strategy.FULL)
    )
    await asyncio.sleep(0)
    await registry.put(parse_topic("other"), string(), Strategy.FULL)
    assert not long.done()
    assert await long == 0


async def test_a_definition_that_is_too_long_is_refused(registry: SchemaRegistry) -> None:
    with pytest.raises(InvalidSchema, match="more than schemaMaxSizeInBytes = 1048576"):
        await registry.put(TOPIC, SchemaData(SchemaType.AVRO, b" " * (1 << 20) + b"{}"), Strategy.FULL)


async def test_an_equal_schema_in_another_form_is_the_same_version(registry: SchemaRegistry) -> None:
    await registry.put(TOPIC, avro("a"), Strategy.ALWAYS_INCOMPATIBLE)
    spaced = SchemaData(SchemaType.AVRO, avro("a").data.replace(b",", b" , "))
    assert await registry.put(TOPIC, spaced, Strategy.ALWAYS_INCOMPATIBLE) == 0
    assert registry.version_of(TOPIC, spaced) == -1


async def test_the_same_definition_with_another_type_is_another_schema(registry: SchemaRegistry) -> None:
    await registry.put(TOPIC, avro("a"), Strategy.FULL)
    assert await registry.put(TOPIC, avro("a", SchemaType.JSON), Strategy.ALWAYS_COMPATIBLE) == 1


async def test_topics_with_any_names_have_separate_schemas(registry: SchemaRegistry) -> None:
    names = ["a", "a%2Fb", "a b", "a+b", "a/1".replace("/", "%"), "ä"]
    topics = [parse_topic(f"persistent://public/default/{name}") for name in names]
    for index, topic in enumerate(topics):
        await registry.put(topic, avro(" ".join(f"f{number}" for number in range(index))), Strategy.FULL)
    for index, topic in enumerate(topics):
        assert [one.schema.text.count('"f') for one in registry.versions(topic)] == [index + 1]


async def test_an_upload_during_a_deletion_starts_a_new_history(registry: SchemaRegistry) -> None:
    await registry.put(TOPIC, avro("a"), Strategy.FULL)
    await registry.delete(TOPIC)
    _, version = await asyncio.gather(registry.forget(TOPIC), registry.put(TOPIC, string(), Strategy.FULL))
    assert version == 0
    assert [one.schema for one in registry.versions(TOPIC)] == [string()]


async def test_after_half_a_deletion_no_deleted_version_is_in_force_again(
    registry: SchemaRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    await registry.put(TOPIC, avro("a"), Strategy.FULL)
    await registry.delete(TOPIC)
    delete, calls = registry._metadata.delete, iter([None])

    async def fail_the_second_time(kind: str, key: str) -> None:
        if next(calls, "none left"):
            raise OSError
        await delete(kind, key)

    monkeypatch.setattr(registry._metadata, "delete", fail_the_second_time)
    with pytest.raises(OSError):
        await registry.forget(TOPIC)
    assert registry.versions(TOPIC) == []


async def test_a_schema_whose_client_leaves_keeps_its_version(tmp_path: Path) -> None:
    broker, disk = Broker(BrokerConfig()), HeldDisk()
    await broker.start(tmp_path, disk=disk)
    disk.go.clear()
    disk.arrived.clear()
    leaving = asyncio.create_task(broker.schemas.put(TOPIC, string(), Strategy.ALWAYS_COMPATIBLE))
    await asyncio.to_thread(disk.arrived.wait, 10)
    leaving.cancel()
    await asyncio.wait([leaving])
    disk.go.set()
    assert await broker.schemas.put(TOPIC, avro("a"), Strategy.ALWAYS_COMPATIBLE) == 1
    assert await broker.schemas.put(TOPIC, string(), Strategy.ALWAYS_COMPATIBLE) == 0
    await broker.stop()


async def test_a_definition_that_exceeds_the_stack_is_refused(tmp_path: Path) -> None:
    """`schemaMaxDepth` can be any number."""
    broker = Broker(BrokerConfig(schema=SchemaConfig(max_depth=100_000)))
    await broker.start(tmp_path)
    nested = b'{"type":"array","items":' * 20_000 + b'"int"' + b"}" * 20_000
    for schema in (SchemaData(SchemaType.AVRO, nested), SchemaData(SchemaType.PROTOBUF_NATIVE, b"[" * 100_000)):
        with pytest.raises(InvalidSchema):
            await broker.schemas.put(TOPIC, schema, Strategy.FULL)
        with pytest.raises(InvalidSchema):
            await broker.schemas.check_compatible(TOPIC, schema, Strategy.FULL)
    with pytest.raises(InvalidSchema, match="nested too deeply"):
        await broker.schemas._computed(SchemaData(SchemaType.AVRO), _endless)
    await broker.stop()


def _endless() -> None:
    _endless()
