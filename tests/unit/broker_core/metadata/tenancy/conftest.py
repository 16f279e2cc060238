"""Tenancy with a store in memory."""

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.metadata.tenancy.tenancy import Tenancy
from tests.unit.broker_core.metadata.tenancy.memory_documents import MemoryDocuments


@pytest.fixture
def documents() -> MemoryDocuments:
    return MemoryDocuments()


@pytest.fixture
async def tenancy(documents: MemoryDocuments) -> Tenancy:
    return await Tenancy.open(documents, BrokerConfig())
