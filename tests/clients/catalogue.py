"""The features that tests with official clients cover, and the tests of each client for them.

In Java, Go, and JavaScript a test file is a feature: `KeySharedTest.java`, `key_shared_test.go`, `key_shared.test.js`.
A Python module names its features with `pytestmark = pytest.mark.feature(...)`. This module reads the sources; `run.py`
runs them.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
CLIENTS = ("Python", "Java", "Java-V5", "Go", "Node")

FEATURES = {
    "publishing": "Publishing: batches, compression, keys, properties, encryption",
    "access_modes": "Producer access modes, fencing",
    "producer_names": "Producer names",
    "sequence_ids": "Sequence IDs",
    "deduplication": "Deduplication",
    "chunking": "Chunked messages",
    "exclusive": "Exclusive subscriptions",
    "failover": "Failover subscriptions",
    "shared": "Shared subscriptions",
    "key_shared": "Key_Shared subscriptions, all modes",
    "subscription_options": "Subscription options: initial position, durability, properties",
    "acknowledgement": "Acknowledgment: single, cumulative, lists",
    "batch_index_ack": "Acknowledgment inside a batch",
    "ack_receipt": "Acknowledgment receipts",
    "negative_ack": "Negative acknowledgment, backoff, acknowledgment timeout",
    "dead_letter": "Dead letter topics",
    "retry_letter": "Retry letter topics",
    "delayed_delivery": "Delayed delivery",
    "queue_consumer": "Queue consumers of the V5 API",
    "stream_consumer": "Stream consumers of the V5 API",
    "checkpoint_consumer": "Checkpoint consumers of the V5 API",
    "mixed_clients": "The V5 API beside the older one",
    "scalable_topics": "Scalable topics: creation, lists, schemas, properties, deletion, switched off",
    "split_merge": "Scalable topics: split and merge while clients publish and consume",
    "scalable_stream": "Scalable topics: stream consumers that share segments, seek, clear",
    "scalable_queue": "Scalable topics: redelivery, dead letters, and delays over a split",
    "scalable_migration": "Scalable topics: migration of regular topics under clients",
    "partitioned_topics": "Partitioned topics, added partitions",
    "multi_topics": "Subscriptions to several topics",
    "pattern_subscription": "Subscriptions by pattern, topic list watchers",
    "non_persistent": "Non-persistent topics",
    "termination": "Termination, end of topic",
    "migration": "Migration to another cluster (TOPIC_MIGRATED)",
    "unload": "Unloading, deletion, automatic creation",
    "reader": "Readers",
    "table_view": "Table views",
    "compaction": "Compaction and compacted reads",
    "expiry": "Message TTL and retention",
    "seek": "Seek by ID and by time",
    "schema_types": "Schema types, AUTO_CONSUME, AUTO_PRODUCE",
    "schema_versions": "Schema versions and evolution",
    "schema_compatibility": "Schema compatibility strategies, validation",
    "limits": "Limits of producers, consumers, subscriptions, topics, sizes",
    "rates": "Publish, dispatch, and subscribe rates",
    "backlog_quota": "Backlog quotas",
    "entry_metadata": "Index and broker time of messages",
    "stats": "Statistics",
    "clusters": "Records of clusters, with the Go pulsarctl, too",
    "transactions": "Transactions: commit, abort, time-out",
    "transactional_messages": "Transactions with batches, chunks, delays, keys, readers, compaction",
    "transactional_acknowledgements": "Acknowledgment in transactions",
    "spring_transactions": "Transactions of Spring for Apache Pulsar: templates, methods, listeners",
    "durability": "kill -9, restart, full disk, clock jumps",
    "addresses": "Addresses, lookup",
    "security": "TLS, authentication by every method, credentials that expire or are wrong",
}


@dataclass(frozen=True)
class SourceFile:
    """A test file of one client: its path below this directory, its features, and the names of its tests."""

    client: str
    path: Path
    features: tuple[str, ...]
    tests: tuple[str, ...]


def source_files() -> list[SourceFile]:
    """All test files, in the order of CLIENTS and names."""
    return [*python_files(), *java_files(), *go_files(), *node_files()]


def python_files() -> Iterator[SourceFile]:
    for path in sorted(HERE.glob("test_*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        tests = [node.name for node in module.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        features = tuple(feature for node in module.body for feature in features_of(node))
        if features:
            names = tuple(name for name in tests if name.startswith("test_"))
            yield SourceFile("Python", path.relative_to(HERE), features, names)


def features_of(node: ast.stmt) -> Iterator[str]:
    """The arguments of every `pytest.mark.feature(...)` in a module's `pytestmark = ...`."""
    if not isinstance(node, ast.Assign) or ast.unparse(node.targets[0]) != "pytestmark":
        return
    for call in ast.walk(node.value):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.feature":
            yield from (ast.literal_eval(argument) for argument in call.args)


def java_files() -> Iterator[SourceFile]:
    pattern = re.compile(r"@(?:Test|ParameterizedTest)\b.*?\bvoid (\w+)\(", re.DOTALL)
    for client, folder in (("Java", "java/src/test/java/clients"), ("Java-V5", "java-v5/src/test/java/clients/v5")):
        for path in sorted((HERE / folder).glob("*Test.java")):
            if path.stem not in ("ClientTest", "V5Test"):
                yield source_file(client, path, snake_case(path.stem.removesuffix("Test")), pattern)


def go_files() -> Iterator[SourceFile]:
    pattern = re.compile(r"^func (Test\w+)\(", re.MULTILINE)
    for path in sorted(HERE.glob("go/*_test.go")):
        if path.stem != "clients_test":
            yield source_file("Go", path, path.stem.removesuffix("_test"), pattern)


def node_files() -> Iterator[SourceFile]:
    pattern = re.compile(r"^test\('([^']+)'", re.MULTILINE)
    for path in sorted(HERE.glob("node/*.test.js")):
        yield source_file("Node", path, path.name.removesuffix(".test.js"), pattern)


def source_file(client: str, path: Path, feature: str, pattern: re.Pattern[str]) -> SourceFile:
    tests = tuple(pattern.findall(path.read_text(encoding="utf-8")))
    return SourceFile(client, path.relative_to(HERE), (feature,), tests)


def snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
