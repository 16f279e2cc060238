"""Whatever a setter of the broker accepts, `export` writes a file that `apply` makes the same of on an empty broker."""

from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

import pytest
import yaml
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from broker_core.metadata.policies.topic_policies import POLICIES
from broker_core.testing import EmbeddedBroker
from tests.cli.state.conftest import Write
from tests.cli.state.setters import SETTERS, TEXTS, Setter, asked, in_path
from tests.support.runner import Cli

TENANT = "setters"
NUMBER = count()
LOGGED = "WARNING "  # of the broker in this process, which cannot replicate to the other cluster
LEFT_OUT = ("warning: the file leaves out ", "notice: the file leaves out ")
BOUNDED = settings(  # without shrinking, which would take minutes
    max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate)
)


class Brokers(NamedTuple):
    """`source` has what the setters set; `empty` gets what the files say. `url`: of the admin API of the first."""

    url: str
    source: Cli
    empty: Cli


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    home = tmp_path_factory.mktemp("home")
    with EmbeddedBroker() as one, EmbeddedBroker() as other:
        found = Brokers(
            f"{one.http_url}/admin/v2", *(Cli(home, each.http_url, each.service_url) for each in (one, other))
        )
        for run in found.source, found.empty:
            run("clusters", "create", "west", "--url", "http://west:8080")
            run("tenants", "create", TENANT, "-c", "standalone,west")
        yield found


def new_topic(url: str) -> tuple[str, dict[str, str]]:
    """The name of a new namespace, and the paths of it and of a topic in it."""
    namespace = f"{TENANT}/n{next(NUMBER)}"
    paths = {"namespaces": f"{url}/namespaces/{namespace}", "topics": f"{url}/persistent/{namespace}/t"}
    assert asked(paths["namespaces"], "PUT") == asked(paths["topics"], "PUT") == 0
    return namespace, paths


def check_round_trip(brokers: Brokers, write: Write, scope: str) -> tuple[dict[str, Any], str]:
    """The exported document, and what the export says that it leaves out."""
    exported = brokers.source("export", "-n", scope)
    assert exported.exit_code == 0, exported.stderr
    file = write(exported.stdout)
    for run, words in (
        (brokers.source, ("diff",)),
        (brokers.empty, ("apply", "--yes")),
        (brokers.empty, ("diff", "--prune")),
    ):
        done = run(*words, "-f", file)
        assert done.exit_code == 0, f"{words}: {done.stdout}{done.stderr}\n{exported.stdout}"
    assert brokers.empty("export", "-n", scope).stdout == exported.stdout
    document: dict[str, Any] = yaml.safe_load(exported.stdout)
    return document, exported.stderr


def test_each_declared_policy_has_a_setter() -> None:
    assert {one.field for one in SETTERS} == set(POLICIES)


@BOUNDED
@given(st.fixed_dictionaries({}, optional={one: one.values() for one in SETTERS}))
def test_what_a_setter_accepts_is_exported_and_applied_to_an_empty_broker(
    brokers: Brokers, write: Write, values: dict[Setter, Any]
) -> None:
    namespace, paths = new_topic(brokers.url)
    accepted = [one for one, value in values.items() if one.send(paths[one.level], value)]
    document, left_out = check_round_trip(brokers, write, namespace)
    for one in accepted:
        if asked(f"{paths[one.level]}/{one.read}") not in one.unset:
            key = namespace if one.level == "namespaces" else f"persistent://{namespace}/t"
            policies = document[one.level][key].get("policies", {})
            assert one.name in policies or (one.name or POLICIES[one.field].path[0]) in left_out, one
    assert [line for line in left_out.splitlines() if not line.startswith((*LEFT_OUT, LOGGED))] == []


@BOUNDED
@example("<<", "<<", "<<")
@given(TEXTS, TEXTS, TEXTS)
def test_names_and_texts_are_exported_and_applied_to_an_empty_broker(
    brokers: Brokers, write: Write, name: str, key: str, value: str
) -> None:
    namespace, paths = new_topic(brokers.url)
    of_namespace, of_topic = paths.values()
    position = {"ledgerId": -1, "entryId": -1, "properties": {key: value}}
    schema = {"type": "STRING", "schema": "", "properties": {key: value}}
    for path, method, body in (
        (f"{of_namespace}/properties", "PUT", {key: value}),
        (f"{of_topic}/properties", "PUT", {key: value}),
        (f"{of_namespace}/permissions/{in_path(name)}", "POST", ["consume", "produce"]),
        (f"{of_topic}/permissions/{in_path(key)}", "POST", []),
        (f"{of_topic}/permissions/{in_path(name)}", "POST", ["produce", "produce"]),
        (f"{of_namespace}/permissions/subscription/{in_path(name)}", "POST", [key, value, value]),
        (f"{of_topic}/subscription/{in_path(name)}", "PUT", position),
        (f"{brokers.url}/schemas/{namespace}/t/schema", "POST", schema),
        (f"{brokers.url}/persistent/{namespace}/{in_path(name)}", "PUT", None),
    ):
        asked(path, method, body)
    assert check_round_trip(brokers, write, namespace)[1] == ""


@BOUNDED
@given(st.lists(TEXTS, max_size=3), st.lists(st.sampled_from(["standalone", "west", "", "none"]), max_size=3))
def test_tenants_are_exported_and_applied_to_an_empty_broker(
    brokers: Brokers, write: Write, roles: list[str], clusters: list[str]
) -> None:
    tenant = f"{TENANT}-{next(NUMBER)}"
    if asked(f"{brokers.url}/tenants/{tenant}", "PUT", {"adminRoles": roles, "allowedClusters": clusters}) == 0:
        assert check_round_trip(brokers, write, tenant)[1] == ""


def test_a_rate_without_a_period_is_exported(brokers: Brokers, write: Write) -> None:
    namespace, paths = new_topic(brokers.url)
    asked(f"{paths['topics']}/dispatchRate", "POST", {"dispatchThrottlingRateInMsg": 10})
    document, left_out = check_round_trip(brokers, write, namespace)
    policies = document["topics"][f"persistent://{namespace}/t"]["policies"]
    assert policies["dispatch-rate"]["dispatchThrottlingRateInMsg"] == 10
    assert left_out == ""


def test_a_threshold_of_zero_is_named(brokers: Brokers, write: Write) -> None:
    namespace, paths = new_topic(brokers.url)
    asked(f"{paths['namespaces']}/offloadThreshold", "PUT", 0)
    left_out = check_round_trip(brokers, write, namespace)[1]
    assert left_out == f"notice: the file leaves out offload_threshold of namespace {namespace}\n"


def test_what_a_file_cannot_say_is_named_and_the_rest_is_exported(brokers: Brokers, write: Write) -> None:
    namespace, paths = new_topic(brokers.url)
    for path, value in (
        ("subscribeRate", {"subscribeThrottlingRatePerConsumer": 3, "ratePeriodInSecond": -9}),
        ("publishRate", {"publishThrottlingRateInMsg": 7, "publishThrottlingRateInByte": -1}),
    ):
        asked(f"{paths['namespaces']}/{path}", "POST", value)
    document, left_out = check_round_trip(brokers, write, namespace)
    assert f"the file leaves out namespaces.{namespace}.policies.subscribe-rate.ratePeriodInSecond: " in left_out
    assert list(document["namespaces"][namespace]["policies"]) == ["publish-rate"]
