"""A metadata store in memory that can be made to fail, and a namespace and a topic to store."""

import asyncio
import json
from collections.abc import Iterable
from typing import Any

from broker_core.errors import MetadataFailed
from broker_core.names import NamespaceName, parse_topic

DEFAULT = NamespaceName("public", "default")
TOPIC = parse_topic("persistent://public/default/orders")


class MemoryDocuments:
    """A metadata store without a disk; writes fail when `broken` and wait at `gate`."""

    def __init__(self) -> None:
        self.texts: dict[tuple[str, str], str] = {}
        self.broken = False
        self.gate: asyncio.Event | None = None
        self.reached_gate = asyncio.Event()

    async def put(self, kind: str, key: str, doc: dict[str, Any], /) -> None:
        await self._disk()
        self.texts[kind, key] = json.dumps(doc)

    async def delete(self, kind: str, key: str, /) -> None:
        await self._disk()
        self.texts.pop((kind, key), None)

    def get(self, kind: str, key: str, /) -> dict[str, Any] | None:
        text = self.texts.get((kind, key))
        return None if text is None else json.loads(text)

    def list(self, kind: str, /) -> Iterable[str]:
        return [key for found, key in self.texts if found == kind]

    async def _disk(self) -> None:
        if self.gate is not None:
            self.reached_gate.set()
            await self.gate.wait()
        if self.broken:
            raise MetadataFailed("the disk is gone")
