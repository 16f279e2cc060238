"""Random states: one applied over another, with pruning, leaves exactly the second one."""

from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.state.conftest import Write
from tests.cli.state.samples import OF_NAMESPACES, OF_TOPICS
from tests.support.runner import Cli

TENANT = "random"
NAMES = st.sampled_from(["a", "b", "c"])
ROLES = st.sampled_from(["app", "${x}", "on", "ä/ö"])
ACTIONS = st.lists(st.sampled_from(["produce", "consume"]), min_size=1, unique=True).map(
    lambda found: sorted(found, key=["produce", "consume"].index)
)
PROPERTIES = st.dictionaries(NAMES, st.sampled_from(["1", "yes", "x y"]), max_size=2)
# These limit what a state may hold, or each other.
LEFT_OUT = {"backlog-quota", "max-topics-per-namespace", "schema-compatibility-strategy", "max-subscriptions"}


def policies(samples: dict[str, list[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    rows = {name: values for name, values in samples.items() if values and name not in LEFT_OUT}
    chosen = st.lists(st.sampled_from(sorted(rows)), max_size=4, unique=True)
    return chosen.flatmap(lambda names: st.fixed_dictionaries({name: st.sampled_from(rows[name]) for name in names}))


def some(**parts: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """An object as an export has it: without what is empty."""
    return st.fixed_dictionaries({}, optional={name.replace("_", "-"): part for name, part in parts.items()}).map(
        lambda found: {key: value for key, value in found.items() if value not in ({}, [])}
    )


SCHEMA = st.sampled_from(["STRING", "INT64", "DATE"]).map(lambda kind: {"type": kind})
SUBSCRIPTIONS = st.dictionaries(NAMES, some(properties=PROPERTIES), max_size=2)
NAMESPACE = some(
    policies=policies(OF_NAMESPACES),
    permissions=st.dictionaries(ROLES, ACTIONS, max_size=2),
    properties=PROPERTIES,
    subscription_permissions=st.dictionaries(NAMES, st.just(["app"]), max_size=2),
)
TOPIC = some(
    policies=policies(OF_TOPICS),
    permissions=st.dictionaries(ROLES, ACTIONS, max_size=2),
    properties=PROPERTIES,
    subscriptions=SUBSCRIPTIONS,
)


@st.composite
def states(draw: st.DrawFn) -> dict[str, Any]:
    """Topics whose names say whether they are partitioned, because that cannot change."""
    namespaces = draw(st.dictionaries(NAMES, NAMESPACE, max_size=2))
    topics = {}
    for namespace in namespaces:
        for name in draw(st.lists(NAMES, max_size=2, unique=True)):
            topics[f"persistent://{TENANT}/{namespace}/plain-{name}"] = draw(TOPIC)
        for name in draw(st.lists(NAMES, max_size=1, unique=True)):
            topics[f"persistent://{TENANT}/{namespace}/parts-{name}"] = {"partitions": draw(st.integers(1, 3))}
    state = {
        "tenants": {TENANT: draw(some(adminRoles=st.lists(NAMES, unique=True).map(sorted)))},
        "namespaces": {f"{TENANT}/{name}": value for name, value in namespaces.items()},
        "topics": topics,
    }
    return {key: value for key, value in state.items() if value}


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(states(), states())
def test_a_state_applied_over_another_leaves_exactly_the_second(
    run: Cli, write: Write, first: dict[str, Any], second: dict[str, Any]
) -> None:
    for state in ({}, first, grown(first, second)):
        done = run("apply", "-f", write(escaped({"scope": [TENANT], **state})), "--prune", "--yes")
        assert done.exit_code == 0, done.stderr
        assert exported(run) == state


def grown(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """The second state, in which no topic has fewer partitions than in the first."""
    for name, topic in second.get("topics", {}).items():
        before = first.get("topics", {}).get(name, {})
        if "partitions" in topic and "partitions" in before:
            topic["partitions"] = max(topic["partitions"], before["partitions"])
    return second


def exported(run: Cli) -> dict[str, Any]:
    outcome = run("export", "-n", TENANT)
    if outcome.exit_code == 3:  # there is no such tenant
        return {}
    found = yaml.safe_load(outcome.stdout.replace("$${", "${"))
    assert found.pop("scope") == [TENANT]
    for namespace in found.get("namespaces", {}).values():
        del namespace["bundles"]
    assert isinstance(found, dict)
    return found


def escaped(state: dict[str, Any]) -> str:
    return yaml.safe_dump(state, allow_unicode=True).replace("${", "$${")
