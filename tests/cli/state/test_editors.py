"""The JSON Schema for editors: it accepts what `apply` accepts, and marks what `apply` refuses."""

import json
from typing import Any

import jsonschema_rs
import pytest

from tests.cli.state.samples import OF_NAMESPACES, OF_TOPICS
from tests.support.runner import Cli


@pytest.fixture
def validator(cli_alone: Cli) -> Any:
    return jsonschema_rs.validator_for(json.loads(cli_alone("export", "--editor-schema").stdout))


@pytest.mark.parametrize("index", range(3))
def test_every_policy_with_every_sample_is_accepted(validator: Any, index: int) -> None:
    document = {
        "scope": ["shop"],
        "namespaces": {"shop/a": {"policies": chosen(OF_NAMESPACES, index)}, "shop/b": None},
        "topics": {"shop/a/t": {"policies": chosen(OF_TOPICS, index), "subscriptions": {"billing": None}}},
    }
    assert list(validator.iter_errors(document)) == []


@pytest.mark.parametrize(
    "topic",
    [
        {"partitions": "${PARTITIONS}"},
        {"policies": {"message-ttl": "7d", "deduplication": "${DEDUPLICATION}"}},
        {"schema": {"type": "JSON", "schema": {"type": "record"}}},
    ],
)
def test_units_and_variables_are_accepted(validator: Any, topic: dict[str, Any]) -> None:
    assert validator.is_valid({"topics": {"shop/a/t": topic}})


@pytest.mark.parametrize(
    "document",
    [
        {"tenant": {}},
        {"topics": {"a": {"partitions": -1}}},
        {"topics": {"a": {"partitions": "many"}}},
        {"topics": {"a": {"policies": {"retentoin": {}}}}},
        {"topics": {"a": {"policies": {"retention": {"retentionTimeInMinutes": 5}}}}},
        {"topics": {"a": {"policies": {"deduplication": "perhaps"}}}},
        {"topics": {"a": {"permissions": {"app": ["write"]}}}},
        {"topics": {"a": {"permissions": {"app": []}}}},
        {"topics": {"a": {"schema": {"schema": "x"}}}},
    ],
)
def test_mistakes_are_marked(validator: Any, document: dict[str, Any]) -> None:
    assert not validator.is_valid(document)


def chosen(samples: dict[str, list[Any]], index: int) -> dict[str, Any]:
    return {name: values[index % len(values)] for name, values in samples.items() if values}
