"""No restart undoes a successful request: the test covers every setter and remover.

One broker process sets everything and stops cleanly; then it sets everything to other values and is killed. After
each of the two, every GET returns what it returned before.
"""

import http.client
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import pytest

from broker_core.admin.all_routes import all_routes
from broker_core.admin.policy_places import TOPIC_IN_QUERY
from tests.broker.admin import setters
from tests.broker.admin.namespace_bodies import FULL, GO, PULSAR_ADMIN
from tests.broker.admin.setters import API, NAMESPACE, SCHEMA, TOPIC, Setter
from tests.support.broker_process import BrokerProcess

Answers = dict[str, tuple[int, str]]  # status and body, by path

NAMESPACES: dict[str, Any] = {"ours": None, "pulsar-admin": PULSAR_ADMIN, "full": FULL, "go": GO}

PARTITIONED = {"partitions": 2, "properties": {"made": "so"}}
TOPICS: dict[str, tuple[str, str, Any]] = {  # name: domain, suffix of the topic's path, body
    "plain": ("persistent", "", None),
    "with-properties": ("persistent", "", {"made": "so"}),
    "parted": ("persistent", "/partitions", 2),
    "parted-with-properties": ("persistent", "/partitions", PARTITIONED),
    "volatile-parted": ("non-persistent", "/partitions", 2),
}

# The answers of these GETs depend on more than settings: rates, times, addresses, messages.
CHANGING = ("tats", "internal-info", "essage", "/ledger/", "/position/", "/compaction", "/metrics", "brokers", "lookup")


IN_QUERY = {place.name for place in TOPIC_IN_QUERY}  # the value of these policies of a topic
# Parts of paths that most subjects have in common.
USUAL = {"resourcegroup": "rg", "key": "k", "value": "v", "role": "r", "subscription": "s"}


@dataclass
class Subject:
    """An owner of policies: the parts of its paths, and whether its settings are removed again."""

    prefix: str
    parts: Mapping[str, str]
    takes_back: bool

    def path(self, template: str) -> str:
        return template.format(**{**USUAL, **self.parts})


class Client:
    """One connection to the admin API of a process; close it before the process ends."""

    def __init__(self, broker: BrokerProcess) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", int(broker.http_url.rpartition(":")[2]), timeout=30)

    def __call__(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        sent = None if body is None else json.dumps(body).encode()
        self._connection.request(method, path, sent, {"Content-Type": "application/json"} if sent else {})
        response = self._connection.getresponse()
        return response.status, response.read().decode()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def must(self, method: str, path: str, body: Any = None) -> None:
        status, text = self(method, path, body)
        assert 200 <= status < 300, f"{method} {path} {body}: {status} {text}"


def test_every_route_that_changes_something_has_a_sample_body() -> None:
    assert setters.without_sample() == []


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path / "data")
    yield process
    process.stop()


def test_every_change_survives_a_restart_and_kill_9(broker: BrokerProcess) -> None:
    broker.start()
    with Client(broker) as client:
        subjects = _create(client)
    before = _of_each(broker, subjects, partial(_changed, index=0))

    broker.stop()
    broker.start()
    assert _of_each(broker, subjects, _shown) == before
    before = _of_each(broker, subjects, partial(_changed, index=1))

    broker.kill()
    broker.start()
    assert _of_each(broker, subjects, _shown) == before


def _of_each(broker: BrokerProcess, subjects: Iterable[Subject], work: Callable[[Client, Subject], Answers]) -> Answers:
    """Runs the requests concurrently, so that changes share their waits for the disk."""

    def run(subject: Subject) -> Answers:
        with Client(broker) as client:
            return work(client, subject)

    with ThreadPoolExecutor(16) as pool:
        return {path: answer for found in pool.map(run, subjects) for path, answer in found.items()}


def _create(client: Client) -> list[Subject]:
    subjects = [
        Subject(f"{API}clusters", {"cluster": "standalone", "domainName": "d", "policyName": "p"}, takes_back=False)
    ]
    client.must("PUT", f"{API}resourcegroups/rg")
    subjects.append(Subject(f"{API}resourcegroups", {}, takes_back=False))
    bundle = {"tenant": "public", "namespace": "default", "bundle": "0x00000000_0x40000000"}
    subjects.append(Subject(f"{API}resource-quotas", bundle, takes_back=False))
    client.must("PUT", f"{API}tenants/acme", {"allowedClusters": ["standalone"]})
    subjects.append(Subject(f"{API}tenants", {"tenant": "acme"}, takes_back=False))
    for back in (False, True):
        for how, body in NAMESPACES.items():
            parts = {"tenant": "acme", "namespace": f"{how}-{back}"}
            client.must("PUT", NAMESPACE.format(**parts), body)
            subjects.append(Subject(NAMESPACE, parts, back))
        for how, (domain, suffix, body) in TOPICS.items():
            parts = {"tenant": "public", "namespace": "default", "domain": domain, "topic": f"{how}-{back}"}
            client.must("PUT", TOPIC.format(**parts) + suffix, body)
            if domain == "persistent":
                client.must("PUT", f"{TOPIC.format(**parts)}/subscription/s")
            subjects.append(Subject(TOPIC, {**parts, "subscription": "s"}, back))
        subjects.append(Subject(SCHEMA, {**parts, "topic": f"schema-{back}"}, back))
    return subjects


def _changed(client: Client, subject: Subject, index: int) -> Answers:
    """Sets everything to the sample of that index, removes what is to be removed, then returns `_shown`."""
    for setter in _setters_of(subject):
        path = subject.path(setter.path)
        name = path.rpartition("/")[2]
        if subject.prefix == TOPIC and name in IN_QUERY:
            client.must(setter.method, f"{path}?{name}={setter.bodies[index]}")
        else:
            client.must(setter.method, path, setter.bodies[index])
        if subject.takes_back and setter.remover:
            client.must("DELETE", path)
    return _shown(client, subject)


def _setters_of(subject: Subject) -> list[Setter]:
    found = setters.setters(subject.prefix)
    if subject.parts.get("domain") == "non-persistent":  # it has properties and subscriptions only while in use
        found = [one for one in found if "properties" not in one.path and "/subscription/" not in one.path]
    return found


def _shown(client: Client, subject: Subject) -> Answers:
    """The answers of all GETs that show settings, and for topics also the settings in force."""
    return {path: client("GET", path) for path in _gets(subject)}


def _gets(subject: Subject) -> Iterator[str]:
    for route in all_routes().listed:
        if (
            route.method == "GET"
            and route.path.startswith(subject.prefix)
            and not any(c in route.path for c in CHANGING)
            and not route.path.endswith("/backlog")
        ):
            try:
                path = subject.path(route.path)
            except KeyError:
                continue
            yield path
            if subject.prefix == TOPIC:
                yield f"{path}?applied=true"
