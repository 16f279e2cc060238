"""Verbs that lose data: never suggested, and confirmed before they delete several things."""

import re
from importlib import import_module

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from pulsarctl.shell.nouns import COMMANDS, MODULE_OF
from tests.support.runner import Cli

LOSING = re.compile(r"^(delete|clear-backlog|skip|expire|unsubscribe|terminate|trim|truncate|accept-loss)|-terminate$")
KEEPING = {"delete-properties", "delete-anti-affinity-group", "delete-bookie-affinity-group"}
NAMES = [name for name in COMMANDS if name not in ("ops",)]


@pytest.mark.parametrize("noun", NAMES)
def test_every_verb_that_loses_data_is_marked(noun: str) -> None:
    app = import_module(f"pulsarctl.commands.{MODULE_OF.get(noun, noun)}").app
    named = {str(info.name) for info in app.registered_commands if LOSING.search(str(info.name))}
    assert named - KEEPING <= app.losing


@pytest.mark.parametrize(
    "words",
    [
        ("topics", "truncat"),
        ("topics", "terminat"),
        ("topics", "delet"),
        ("subscriptions", "delte"),
        ("namespaces", "clear-backlogs"),
        ("tenants", "deletee"),
        ("schemas", "delet"),
    ],
)
def test_a_verb_that_loses_data_is_never_suggested(cli_alone: Cli, words: tuple[str, str]) -> None:
    outcome = cli_alone(*words, "t")
    app = import_module(f"pulsarctl.commands.{words[0]}").app
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith(f"error: No such command '{words[1]}'.")
    assert not set(re.findall(r"'([a-z-]+)'", outcome.stderr)) & app.losing - {words[1]}


@pytest.mark.parametrize(
    "words",
    [
        ("topics", "delete", "--regex", "losing-.*"),
        ("topics", "delete", "losing-a", "losing-b"),
        ("topics", "expire-messages-all-subscriptions", "losing-a", "-t", "0"),
        ("namespaces", "delete", "public/default", "--force"),
        ("namespaces", "clear-backlog", "public/default"),
        ("namespaces", "unsubscribe", "public/default", "-s", "s"),
        ("tenants", "delete", "public", "--force"),
    ],
    ids=lambda words: "-".join(words[:2]),
)
def test_without_a_terminal_deleting_several_things_needs_yes(
    cli: Cli, client: pulsar.Client, words: tuple[str, ...]
) -> None:
    client.subscribe("losing-a", "s").close()
    client.subscribe("losing-b", "s").close()
    outcome = cli(*words)
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith("error: confirmation required: ")
    assert outcome.stderr.endswith("hint: confirm with --yes\n")
    assert cli("topics", "subscriptions", "losing-a").stdout == "s\n"


def test_yes_deletes_what_a_pattern_matches(cli: Cli, pulsar_broker: EmbeddedBroker, topic: str) -> None:
    for number in range(2):
        assert cli("topics", "create", f"{topic}-{number}").exit_code == 0
    assert cli("topics", "delete", "--regex", f"{topic}-.*", "--yes").exit_code == 0
    assert topic not in cli("topics", "list", "public/default").stdout


def test_a_single_named_topic_is_deleted_without_confirmation(cli: Cli, topic: str) -> None:
    assert cli("topics", "create", topic).exit_code == 0
    assert cli("topics", "delete", topic).exit_code == 0
