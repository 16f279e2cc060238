"""Each policy of the tables goes from a file to the broker and back, and away again."""

from typing import Any

import pytest
import yaml

from pulsarctl.state import settings
from tests.cli.state.conftest import Write
from tests.cli.state.samples import OF_NAMESPACES, OF_TOPICS
from tests.support.runner import Cli

NAMESPACE, TOPIC = "policies/all", "persistent://policies/all/one"


@pytest.fixture(scope="module", autouse=True)
def place(run: Cli) -> None:
    for words in (
        ("tenants", "create", "policies", "-c", "standalone,west"),
        ("clusters", "create", "west", "--url", "http://west:8080"),
        ("tenants", "create", "policies", "-c", "standalone,west"),
        ("namespaces", "create", NAMESPACE),
        ("topics", "create", TOPIC),
    ):
        run(*words)


def test_each_policy_of_a_namespace_has_samples() -> None:
    assert set(OF_NAMESPACES) == set(settings.NAMESPACE)


def test_each_policy_of_a_topic_has_samples() -> None:
    assert set(OF_TOPICS) == set(settings.TOPIC)


@pytest.mark.parametrize("index", range(max(map(len, (*OF_NAMESPACES.values(), *OF_TOPICS.values())))))
def test_policies_are_applied_exported_and_pruned(run: Cli, write: Write, index: int) -> None:
    """All policies at once, each with its next sample."""
    wanted = {
        "namespaces": {NAMESPACE: {"policies": chosen(OF_NAMESPACES, index)}},
        "topics": {TOPIC: {"policies": chosen(OF_TOPICS, index)}},
    }
    file = write(wanted)
    assert run("apply", "-f", file, "--prune", "--yes").exit_code == 0
    assert exported(run) == wanted
    assert run("diff", "-f", file, "--prune").exit_code == 0
    nothing = write({"namespaces": {NAMESPACE: {"policies": {}}}, "topics": {TOPIC: {"policies": {}}}})
    assert run("apply", "-f", nothing, "--prune", "--yes").exit_code == 0
    assert exported(run) == {"namespaces": {NAMESPACE: {"policies": {}}}, "topics": {TOPIC: {"policies": {}}}}


def chosen(samples: dict[str, list[Any]], index: int) -> dict[str, Any]:
    return {name: values[index % len(values)] for name, values in samples.items() if values}


def exported(run: Cli) -> dict[str, Any]:
    found = yaml.safe_load(run("export", "-n", NAMESPACE).stdout)
    return {
        section: {name: {"policies": one.get("policies", {})} for name, one in found[section].items()}
        for section in ("namespaces", "topics")
    }
