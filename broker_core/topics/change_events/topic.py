"""The system topic `__change_events`: a topic that the broker itself follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.names import POLICY_CURSOR
from broker_core.storage.records.position import EARLIEST
from broker_core.topic.topic import Topic
from broker_core.topics.change_events.event_reader import EventReader
from broker_core.topics.change_events.follower import Follower
from broker_core.wire.schema_commands import version_number

if TYPE_CHECKING:
    from broker_core.metadata.tenancy.topic_level import TopicLevelPolicies
    from broker_core.names import TopicName
    from broker_core.topic.services import TopicServices
    from broker_core.topic_log import TopicLog


class ChangeEventsTopic(Topic):
    """`policies` stores the policies that another cluster sent."""

    def __init__(
        self,
        name: TopicName,
        ledger: TopicLog,
        services: TopicServices,
        policies: TopicLevelPolicies,
    ) -> None:
        self._global_policies = policies
        self._schemas = services.replication.schemas
        self._follower: Follower | None = None
        super().__init__(name, ledger, services)

    async def load(self) -> None:
        await super().load()
        cursor = await self.ledger.open_cursor(POLICY_CURSOR, initial=EARLIEST, durable=True)
        policies, namespace = self._global_policies, self.name.namespace
        reader = EventReader(namespace, lambda: policies.other_clusters(namespace), self._schema_of)
        self._follower = Follower(self._context, cursor, reader, policies.accept, self._calls.acknowledged)

    def _schema_of(self, version: bytes) -> bytes | None:
        number = version_number(version)
        stored = None if number is None else self._schemas.stored(self.name, number)
        return None if stored is None else stored.schema.data

    def _on_confirmed(self) -> None:
        super()._on_confirmed()
        if self._follower is not None:
            self._follower.wake()

    async def close(self, *, served_at: str = "", for_deletion: bool = False) -> None:
        if self._follower is not None:
            await self._follower.close()
            self._follower = None  # its reader holds this topic
        await super().close(served_at=served_at, for_deletion=for_deletion)
