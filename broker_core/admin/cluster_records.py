"""Records that tools store by name for a cluster. They have no effect, because one broker has nothing to choose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from broker_core.admin.call import Call
from broker_core.admin.routes import Route
from broker_core.admin.shapes import Shape
from broker_core.errors import InvalidValue, NotFound
from broker_core.security.operations import Operation

Record = dict[str, Any]


@dataclass(frozen=True)
class ClusterRecords:
    """One kind of record. `nouns`: one, and several. `variable`: the part of the path with the record's name.

    `check` compares a record with all that the cluster has. The texts answer 404: `none` for a cluster without records,
    `no_record` for another name, `nothing_to_delete` for a name to delete; without a text, that is not an error.
    """

    kind: str
    nouns: tuple[str, str]
    path: str
    variable: str
    shape: Shape
    reads: Operation
    writes: Operation
    deletes: Operation
    read: Callable[[Call, str], Record]
    no_cluster: str
    no_record: str
    none: str = ""
    nothing_to_delete: str = ""
    check: Callable[[str, Record, Record], None] = lambda _name, _record, _others: None

    def routes(self) -> tuple[Route, ...]:
        records = f"/admin/v2/clusters/{{cluster}}/{self.path}"
        record = f"{records}/{{{self.variable}}}"
        one, several = self.nouns
        return (
            Route("GET", records, self.list_records, self.reads, summary=f"List {several}"),
            Route("GET", record, self.get_record, self.reads, summary=f"Get {one}"),
            Route("POST", record, self.set_record, self.writes, body=self.shape, summary=f"Set {one}"),
            Route("DELETE", record, self.delete_record, self.deletes, summary=f"Delete {one}"),
        )

    async def list_records(self, call: Call) -> Record:
        if call.part("cluster") not in call.broker.tenancy.clusters():
            raise NotFound(self.no_cluster.format(cluster=call.part("cluster")))
        return self.existing(call)

    async def get_record(self, call: Call) -> Record:
        cluster, name = cluster_with_records(call), call.part(self.variable)
        record: Record | None = self.existing(call).get(name)
        if record is None:
            raise NotFound(self.no_record.format(cluster=cluster, name=name))
        return record

    async def set_record(self, call: Call) -> None:
        name, records = call.part(self.variable), call.broker.tenancy.tool_records
        record = self.read(call, name)
        async with records.changing:
            cluster, stored = cluster_with_records(call), self._stored(call)
            self.check(name, record, stored)
            await records.put(self.kind, cluster, {**stored, name: record})

    async def delete_record(self, call: Call) -> None:
        name, records = call.part(self.variable), call.broker.tenancy.tool_records
        async with records.changing:
            cluster, stored = cluster_with_records(call), self._stored(call)
            if name not in stored and self.nothing_to_delete:
                raise NotFound(self.nothing_to_delete.format(cluster=cluster, name=name))
            others = {key: record for key, record in stored.items() if key != name}
            await records.put_or_delete(self.kind, cluster, others)

    def existing(self, call: Call) -> Record:
        """The records of the cluster by name. Raises `NotFound` if there must be one."""
        stored = self._stored(call)
        if not stored and self.none:
            raise NotFound(self.none.format(cluster=call.part("cluster")))
        return stored

    def _stored(self, call: Call) -> Record:
        return call.broker.tenancy.tool_records.get(self.kind, call.part("cluster")) or {}


def cluster_with_records(call: Call) -> str:
    """The cluster in the path. Raises `InvalidValue`; for the cluster itself, Pulsar answers 404 (`clusters`)."""
    cluster = call.part("cluster")
    if cluster not in call.broker.tenancy.clusters():
        raise InvalidValue(f"Cluster {cluster} does not exist.")
    return cluster
