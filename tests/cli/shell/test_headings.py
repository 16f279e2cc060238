"""The headings of `topics --help` and `namespaces --help`."""

from importlib import import_module

import pytest

from pulsarctl.shell.grammar import Noun, NounGroup
from pulsarctl.shell.headings import OF_POLICIES, Heading
from tests.support.runner import Cli

NOUNS = ("topics", "namespaces", "topic_policies")
GETTERS_AND_SETTERS = ("get-", "set-", "remove-")


def noun(name: str) -> Noun:
    found = import_module(f"pulsarctl.commands.{name}").app
    assert isinstance(found, Noun)
    return found


def visible(name: str) -> set[str]:
    return {str(info.name) for info in noun(name).registered_commands if not info.hidden}


@pytest.mark.parametrize("name", NOUNS)
def test_every_verb_has_a_heading(name: str) -> None:
    assert noun(name).headings.keys() == visible(name)


@pytest.mark.parametrize("name", NOUNS)
def test_a_heading_of_policies_lists_getters_and_setters_only(name: str) -> None:
    of_policies = [verb for verb, heading in noun(name).headings.items() if heading in OF_POLICIES]
    assert of_policies
    assert [verb for verb in of_policies if not verb.startswith(GETTERS_AND_SETTERS)] == []


@pytest.mark.parametrize("name", ["topics", "namespaces"])
def test_help_and_the_help_of_policies_list_every_verb_once(cli_alone: Cli, name: str) -> None:
    listed = cli_alone(name, "--help").stdout + cli_alone(name, "policies", "--help").stdout
    for verb in visible(name):
        assert listed.count(f"\n  {verb} ") + listed.count(f"\n  {verb}\n") == 1, verb


@pytest.mark.parametrize("name", ["topics", "namespaces"])
def test_help_names_each_policy_and_how_to_list_its_commands(cli_alone: Cli, name: str) -> None:
    shown = " ".join(cli_alone(name, "--help").stdout.replace("-\n", "-").split()).replace("- ", "-")
    assert f"see 'pulsarctl {name} policies --help'" in cli_alone(name, "--help").stdout
    for verb in visible(name):
        if noun(name).headings[verb] in OF_POLICIES and verb.startswith("set-"):
            assert verb.removeprefix("set-") in shown


def test_the_common_headings_come_first(cli_alone: Cli) -> None:
    shown = cli_alone("topics", "--help").stdout
    places = [shown.index(f"\n{heading}:\n") for heading in Heading if heading not in OF_POLICIES]
    assert places == sorted(places)
    assert shown.index("\n  list ") < shown.index("\n  list-partitioned ")


def test_policies_prints_the_same_list_without_the_help_option(cli_alone: Cli) -> None:
    assert cli_alone("topics", "policies").stdout == cli_alone("topics", "policies", "--help").stdout


def test_completion_offers_the_verbs_in_the_order_of_the_help() -> None:
    built = noun("topics").build()
    assert isinstance(built, NounGroup)
    assert built.list_commands(None)[:3] == ["list", "create", "delete"]
