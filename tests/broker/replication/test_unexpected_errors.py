"""Attempts to connect to another cluster that end with an error that no code expects."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from broker_core.config.security import SecurityConfig
from broker_core.replication.remote_cluster import RemoteCluster
from tests.broker.replication.scripted_cluster import ScriptedCluster, stored

TOPIC = "persistent://public/default/t"


def spawn(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    return asyncio.get_running_loop().create_task(work)


@pytest.fixture
async def remote() -> AsyncIterator[RemoteCluster]:
    """An attempt has failed because there were no threads; now there are some."""
    with ScriptedCluster(stored) as other:
        remote = RemoteCluster("c", lambda _: {"brokerServiceUrl": other.url}, SecurityConfig(), spawn)
        threads = ThreadPoolExecutor()
        threads.shutdown()
        asyncio.get_running_loop().set_default_executor(threads)
        with pytest.raises(RuntimeError):
            await remote.connect(TOPIC)
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())
        yield remote
        remote.close()


async def test_the_next_attempt_does_not_report_the_error_of_the_last_one(remote: RemoteCluster) -> None:
    assert (await remote.connect(TOPIC)).lost is None


async def test_a_changed_record_replaces_an_attempt_that_failed(remote: RemoteCluster) -> None:
    remote.changed()
    assert (await remote.connect(TOPIC)).lost is None
