"""Any text works as a topic, subscription, key, property, and value."""

import json

import pytest

from tests.support.runner import Cli

TEXTS = ["mit leer zeichen", "100%", "%2F", "grüße", "😀", "a+b&c=d", '"quoted"']


@pytest.mark.parametrize("text", TEXTS)
def test_key_property_and_value_are_unchanged(cli: Cli, text: str) -> None:
    produced = cli("produce", text, "-m", text, "-k", text, "-p", f"{text.replace('=', '-')}={text}")
    assert (produced.exit_code, produced.stdout) == (0, "")
    consumed = cli("consume", text, "-s", text, "-p", "Earliest", "-e", "-o", "jsonl")
    assert consumed.exit_code == 0
    (record,) = [json.loads(line) for line in consumed.stdout.splitlines()]
    assert (record["key"], record["value"]) == (text, text)
    assert record["properties"] == {text.replace("=", "-"): text}
    assert record["topic"] == f"persistent://public/default/{text}"
    assert cli("topics", "subscriptions", text).stdout == f"{text}\n"


@pytest.mark.parametrize("text", TEXTS)
def test_properties_of_a_topic_and_a_subscription_are_unchanged(cli: Cli, text: str) -> None:
    name = f"properties of {text}"
    assert cli("topics", "create", name).exit_code == 0
    assert cli("topics", "create-subscription", name, "-s", text, "-p", f"owner={text}").exit_code == 0
    assert cli("topics", "update-properties", name, "-p", f"owner={text}").exit_code == 0
    assert json.loads(cli("topics", "get-properties", name, "-o", "json").stdout) == {"owner": text}
    shown = cli("topics", "get-subscription-properties", name, "-s", text, "-o", "json")
    assert json.loads(shown.stdout) == {"owner": text}
