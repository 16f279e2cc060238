"""Concurrent changes of one resource, and changes that outlast the timeout of their request."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.http import HttpConfig
from broker_core.server.server import Server
from tests.broker.admin.conftest import PORT_ZERO, Admin
from tests.support.condition import wait_until
from tests.support.held_disk import HeldDisk

HASTY = BrokerConfig(server=PORT_ZERO, http=replace(HttpConfig(), request_seconds=0.2))


@pytest.fixture
def disk() -> HeldDisk:
    return HeldDisk()


@pytest.fixture
async def hasty(tmp_path: Path, disk: HeldDisk) -> AsyncIterator[Admin]:
    """A broker with a request timeout of a fifth of a second."""
    server = Server(HASTY, tmp_path / "data", disk=disk)
    await server.start()
    yield Admin(server)
    disk.go.set()
    await server.stop()


def stored(admin: Admin, namespace: str) -> dict[str, Any]:
    """The state that a restart would find."""
    return admin.broker.storage.metadata.get("namespace", namespace) or {}


@pytest.mark.parametrize(
    "path", ["namespaces/acme/shop", "persistent/acme/shop/plain", "persistent/acme/shop/parted"], ids=str
)
async def test_properties_that_are_added_at_once_are_all_kept(shop: Admin, path: str) -> None:
    added = [{f"key-{number}": "value"} for number in range(8)]
    replies = await asyncio.gather(*(shop("PUT", f"{path}/properties", one) for one in added))
    assert {reply.status for reply in replies} == {204}
    kept = await shop("GET", f"{path}/properties")
    assert sorted(kept.json) == [f"key-{number}" for number in range(8)]


async def test_a_policy_that_is_stored_after_its_request_timed_out_is_in_force(hasty: Admin, disk: HeldDisk) -> None:
    disk.go.clear()
    late = await hasty("POST", "namespaces/public/default/messageTTL", 100)
    assert (late.status, late.reason) == (
        503,
        "no result within 0.2 seconds; the change may still be made: check before you try again",
    )
    disk.go.set()
    await asyncio.to_thread(wait_until, lambda: "message_ttl_in_seconds" in stored(hasty, "public/default"), 10)
    shown = await hasty("GET", "namespaces/public/default/messageTTL")
    assert shown.json == 100


async def test_a_namespace_that_is_deleted_after_its_request_timed_out_is_gone(hasty: Admin, disk: HeldDisk) -> None:
    await hasty("PUT", "namespaces/public/gone")
    disk.go.clear()
    assert (await hasty("DELETE", "namespaces/public/gone")).status == 503
    disk.go.set()
    await asyncio.to_thread(wait_until, lambda: not stored(hasty, "public/gone"), 10)
    assert "public/gone" not in (await hasty("GET", "namespaces/public")).json
