"""The topics of the admin REST API; `admin.client` has the other nouns.

A call on a partitioned topic acts on all its partitions if the broker supports that (unload, clear backlog, reset by
time, compact). For the other calls, the broker's error says which call to use instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any
from urllib.parse import quote_plus

from pulsarctl.admin.http import AdminHttp
from pulsarctl.values.message_ids import MessageId, message_id_in
from pulsarctl.values.names import full_topic, namespace_path, partition_name, subscription_segment, topic_path

ROOT = "/admin/v2"
DOMAINS = ("persistent", "non-persistent")
Document = dict[str, Any]
Peeked = tuple[bytes, Message]  # an entry's decompressed payload, and the headers that describe it
Names = list[str]  # in a class with a method `list`, the name of the builtin is taken


@dataclass(frozen=True, slots=True)
class Status:
    """Status of a long-running process: NOT_RUN, RUNNING, SUCCESS, or ERROR. `error` is that of the last run."""

    status: str
    error: str

    @property
    def running(self) -> bool:
        return self.status == "RUNNING"


class Topics:
    def __init__(self, http: AdminHttp) -> None:
        self._http = http

    def list(
        self,
        namespace: str,
        *,
        domain: str | None = None,
        bundle: str | None = None,
        system_topics: bool | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> Names:
        """Topics without partitions and each partition of the others, sorted. `domain` None: both domains.

        `properties`: only topics that have all of these; Apache Pulsar may list all topics.
        """
        wanted = ",".join(f"{quote_plus(key)}={quote_plus(value)}" for key, value in (properties or {}).items())
        names: Names = []
        for chosen in (domain,) if domain else DOMAINS:
            path = f"{ROOT}/{chosen}/{namespace_path(namespace)}"
            names += sorted(
                self._http.get(path, bundle=bundle, includeSystemTopic=system_topics, properties=wanted or None)
            )
        return names

    def list_partitioned(self, namespace: str, *, system_topics: bool | None = None) -> Names:
        """Names of the partitioned topics of both domains, without their partitions."""
        names: Names = []
        for domain in DOMAINS:
            path = f"{ROOT}/{domain}/{namespace_path(namespace)}/partitioned"
            names += sorted(self._http.get(path, includeSystemTopic=system_topics))
        return names

    def create(self, topic: str, properties: dict[str, str] | None = None) -> None:
        self._http.put(_path(topic), properties)

    def delete(self, topic: str, *, force: bool = False) -> None:
        self._http.delete(_path(topic), force=force)

    def create_partitioned(self, topic: str, partitions: int, properties: dict[str, str] | None = None) -> None:
        if properties:
            body: Any = {"partitions": partitions, "properties": properties}
            kind = "application/vnd.partitioned-topic-metadata+json"
            self._http.request("PUT", f"{_path(topic)}/partitions", body=body, content_type=kind)
        else:
            self._http.put(f"{_path(topic)}/partitions", partitions)

    def update_partitioned(
        self, topic: str, partitions: int, *, local_only: bool | None = None, force: bool | None = None
    ) -> None:
        self._http.post(f"{_path(topic)}/partitions", partitions, updateLocalTopicOnly=local_only, force=force)

    def delete_partitioned(self, topic: str, *, force: bool = False) -> None:
        self._http.delete(f"{_path(topic)}/partitions", force=force)

    def create_missed_partitions(self, topic: str) -> None:
        self._http.post(f"{_path(topic)}/createMissedPartitions")

    def partitioned_metadata(self, topic: str) -> Document:
        """`{"partitions": n}`, with n 0 for a topic without partitions. Raises `NotFound`."""
        return _document(self._http.get(f"{_path(topic)}/partitions"))

    def partitions(self, topic: str) -> int:
        """The number of partitions, 0 for a topic without. Raises `NotFound`."""
        return int(self.partitioned_metadata(topic).get("partitions", 0))

    def parts(self, topic: str) -> Names:
        """The names of a topic's partitions, or of the topic itself if it has none. Raises `NotFound`."""
        count = self.partitions(topic)
        return [partition_name(topic, index) for index in range(count)] or [full_topic(topic)]

    def properties(self, topic: str) -> Document:
        return _document(self._http.get(f"{_path(topic)}/properties"))

    def update_properties(self, topic: str, properties: dict[str, str]) -> None:
        self._http.put(f"{_path(topic)}/properties", properties)

    def remove_properties(self, topic: str, key: str | None) -> None:
        """Removes one property, or all if `key` is None."""
        self._http.delete(f"{_path(topic)}/properties", key=key)

    def subscription_properties(self, topic: str, subscription: str) -> Document:
        return _document(self._http.get(f"{_subscription(topic, subscription)}/properties"))

    def update_subscription_properties(self, topic: str, subscription: str, properties: dict[str, str]) -> None:
        """Replaces all of them."""
        self._http.put(f"{_subscription(topic, subscription)}/properties", properties)

    def permissions(self, topic: str) -> Document:
        return _document(self._http.get(f"{_path(topic)}/permissions"))

    def unload(self, topic: str) -> None:
        self._http.put(f"{_path(topic)}/unload")

    def terminate(self, topic: str) -> Document:
        """Stops the topic from accepting messages; returns the last message ID."""
        return _document(self._http.post(f"{_path(topic)}/terminate"))

    def migration(self, topic: str) -> Document:
        """The phase in which its clients go to another cluster; raises `NotFound` in Apache Pulsar, which has none."""
        return _document(self._http.get(f"{_path(topic)}/migration"))

    def set_migration(self, topic: str, phase: str, service_url: str, service_url_tls: str) -> None:
        body = {"phase": phase, "brokerServiceUrl": service_url, "brokerServiceUrlTls": service_url_tls}
        self._http.post(f"{_path(topic)}/migration", body)

    def open_ledger_above(self, topic: str, ledger_id: int) -> None:
        """The topic's next messages get greater ledger IDs; raises `NotFound` in Apache Pulsar, which cannot do it."""
        self._http.post(f"{_path(topic)}/migration/ledger", {"above": ledger_id})

    def terminate_partitions(self, topic: str) -> Document:
        """Terminates each partition; returns the last message IDs by partition."""
        return _document(self._http.post(f"{_path(topic)}/terminate/partitions"))

    def truncate(self, topic: str) -> None:
        self._http.delete(f"{_path(topic)}/truncate")

    def trim(self, topic: str) -> None:
        self._http.post(f"{_path(topic)}/trim")

    def lookup(self, topic: str) -> Document:
        return _document(self._http.get(f"/lookup/v2/topic/{topic_path(topic)}"))

    def bundle_range(self, topic: str) -> str:
        return str(self._http.get(f"/lookup/v2/topic/{topic_path(topic)}/bundle"))

    def stats(self, topic: str, **flags: bool) -> Document:
        """The statistics. Flags are the query parameters of the REST API (`getPreciseBacklog`, ...)."""
        return _document(self._http.get(f"{_path(topic)}/stats", **flags))

    def partitioned_stats(self, topic: str, **flags: bool) -> Document:
        return _document(self._http.get(f"{_path(topic)}/partitioned-stats", **flags))

    def internal_stats(self, topic: str, *, metadata: bool = False) -> Document:
        return _document(self._http.get(f"{_path(topic)}/internalStats", metadata=metadata))

    def partitioned_internal_stats(self, topic: str) -> Document:
        return _document(self._http.get(f"{_path(topic)}/partitioned-internalStats"))

    def internal_info(self, topic: str) -> Document:
        return _document(self._http.get(f"{_path(topic)}/internal-info"))

    def last_message_id(self, topic: str) -> Document:
        return _document(self._http.get(f"{_path(topic)}/lastMessageId"))

    def message_id_at(self, topic: str, timestamp_ms: int) -> Document:
        return _document(self._http.get(f"{_path(topic)}/messageid/{timestamp_ms}"))

    def message_id_of_index(self, topic: str, index: int) -> Document:
        """The message with an index, of a topic without partitions or of one partition. Raises `NotFound`."""
        return _document(self._http.get(f"{_path(topic)}/getMessageIdByIndex", index=index))

    def backlog_size(self, topic: str, after: MessageId) -> int:
        body = {"ledgerId": after.ledger_id, "entryId": after.entry_id, "partitionIndex": after.partition}
        return int(self._http.put(f"{_path(topic)}/backlogSize", body))

    def subscriptions(self, topic: str) -> Names:
        return sorted(self._http.get(f"{_path(topic)}/subscriptions"))

    def create_subscription(
        self,
        topic: str,
        subscription: str,
        position: MessageId,
        *,
        replicated: bool | None = None,
        properties: dict[str, str] | None = None,
    ) -> None:
        body = _reset_cursor_data(position)
        if properties:
            body["properties"] = properties
        self._http.put(_subscription(topic, subscription), body, replicated=replicated)

    def delete_subscription(self, topic: str, subscription: str, *, force: bool = False) -> None:
        self._http.delete(_subscription(topic, subscription), force=force)

    def clear_backlog(self, topic: str, subscription: str) -> None:
        self._http.post(f"{_subscription(topic, subscription)}/skip_all")

    def skip(self, topic: str, subscription: str, count: int) -> None:
        self._http.post(f"{_subscription(topic, subscription)}/skip/{count}")

    def expire(self, topic: str, subscription: str, seconds: int) -> None:
        self._http.post(f"{_subscription(topic, subscription)}/expireMessages/{seconds}")

    def expire_to(self, topic: str, subscription: str, position: MessageId, *, excluded: bool) -> None:
        self._http.post(
            f"{_subscription(topic, subscription)}/expireMessages", _reset_cursor_data(position, excluded=excluded)
        )

    def expire_all(self, topic: str, seconds: int) -> None:
        self._http.post(f"{_path(topic)}/all_subscription/expireMessages/{seconds}")

    def reset_cursor_to_time(self, topic: str, subscription: str, timestamp_ms: int) -> None:
        self._http.post(f"{_subscription(topic, subscription)}/resetcursor/{timestamp_ms}")

    def reset_cursor(self, topic: str, subscription: str, position: MessageId, *, excluded: bool = False) -> None:
        self._http.post(
            f"{_subscription(topic, subscription)}/resetcursor", _reset_cursor_data(position, excluded=excluded)
        )

    def peek(self, topic: str, subscription: str, number: int) -> Peeked:
        """The `number`th entry to be delivered to the subscription, from 1. Raises `NotFound` after the last."""
        return self._http.get_bytes(f"{_subscription(topic, subscription)}/position/{number}")

    def examine(self, topic: str, number: int, *, from_earliest: bool) -> Peeked:
        """The `number`th entry from that end of the topic, from 1."""
        start = "earliest" if from_earliest else "latest"
        return self._http.get_bytes(f"{_path(topic)}/examinemessage", initialPosition=start, messagePosition=number)

    def message(self, topic: str, ledger: int, entry: int) -> Peeked:
        """The entry at a position. Raises `NotFound`."""
        return self._http.get_bytes(f"{_path(topic)}/ledger/{ledger}/entry/{entry}")

    def compact(self, topic: str) -> None:
        """Starts a compaction. Raises `Conflict` if one is running."""
        self._http.put(f"{_path(topic)}/compaction")

    def compact_places(self, topic: str, places: bytes) -> None:
        """Starts a compaction with the last place of each key. Raises `Conflict` if one is running."""
        self._http.send("POST", f"{_path(topic)}/compaction/places", places, "application/octet-stream")

    def compaction_status(self, topic: str) -> Status:
        """The status of a topic without partitions, or of one partition. Raises `NotFound`."""
        document = _document(self._http.get(f"{_path(topic)}/compaction"))
        return Status(str(document.get("status", "")), str(document.get("lastError") or ""))

    def offload(self, topic: str, before: MessageId) -> None:
        """Starts copying the ledgers before a position to tiered storage. Raises `Conflict` if that is running."""
        body = {"ledgerId": before.ledger_id, "entryId": before.entry_id, "partitionIndex": before.partition}
        self._http.put(f"{_path(topic)}/offload", body)

    def offload_status(self, topic: str) -> Status:
        """The status of the offload of a topic without partitions, or of one partition. Raises `NotFound`."""
        document = _document(self._http.get(f"{_path(topic)}/offload"))
        return Status(str(document.get("status", "")), str(document.get("lastError") or ""))

    def restore(self, topic: str) -> dict[str, int]:
        """Writes the local files of offloaded ledgers again, as many as the broker does in one request.

        Returns the number of ledgers by topic; 0 means that none is left.
        """
        return _document(self._http.post(f"{_path(topic)}/offload/restore"))

    def analyze_backlog(self, topic: str, subscription: str, position: MessageId | None) -> Document:
        """The backlog of a subscription, counted by reading it: from a position, or from its mark-delete position.

        A broker reads a limited part at a time, so this asks until the end.
        """
        whole = part = self._part_of_backlog(topic, subscription, position)
        while part.get("aborted") and (last := message_id_in(str(part.get("lastMessageId")))):
            part = self._part_of_backlog(topic, subscription, MessageId(last.ledger_id, last.entry_id + 1))
            whole = _joined(whole, part)
        return whole

    def _part_of_backlog(self, topic: str, subscription: str, position: MessageId | None) -> Document:
        body = None if position is None else _reset_cursor_data(position)
        return _document(self._http.post(f"{_subscription(topic, subscription)}/analyzeBacklog", body))

    def policy(self, topic: str, name: str, **query: object) -> Any:
        """The value of the policy with this path, None if it is unset."""
        return self._http.get(f"{_path(topic)}/{name}", **query)

    def policies(self, topic: str) -> Document:
        """All policies set on a topic, by path. Only pulsarctl's broker has this request: Pulsar answers 405."""
        return _document(self._http.get(f"{_path(topic)}/policies"))

    def set_policy(self, topic: str, name: str, value: Any, *, method: str = "POST", **query: object) -> None:
        self._http.request(method, f"{_path(topic)}/{name}", body=value, query=query)

    def remove_policy(self, topic: str, name: str, **query: object) -> None:
        self._http.delete(f"{_path(topic)}/{name}", **query)


def _joined(before: Document, after: Document) -> Document:
    """Two parts of a backlog as one: counts are added up, and the rest is that of the second part."""
    sums = {key: before[key] + value for key, value in after.items() if type(value) is int and key in before}
    return {**before, **after, **sums, **{key: before[key] for key in ("firstMessageId",) if key in before}}


def _path(topic: str) -> str:
    return f"{ROOT}/{topic_path(topic)}"


def _subscription(topic: str, subscription: str) -> str:
    return f"{_path(topic)}/subscription/{subscription_segment(subscription)}"


def _reset_cursor_data(position: MessageId, *, excluded: bool = False) -> Document:
    """The ResetCursorData of the REST API."""
    return {
        "ledgerId": position.ledger_id,
        "entryId": position.entry_id,
        "partitionIndex": position.partition,
        "batchIndex": position.batch_index,
        "excluded": excluded,
    }


def _document(value: Any) -> Document:
    return value if isinstance(value, dict) else {}
