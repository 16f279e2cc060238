"""What completes a command line, from the declarations of the commands."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.core import TyperOption

from pulsarctl.shell.completion import Candidate, Position, candidates
from pulsarctl.shell.grammar import Group
from pulsarctl.shell.metavars import SECRETS, takes_value
from pulsarctl.shell.root import application
from pulsarctl.shell.typed_line import TypedLine, for_bash, typed_line, without_program
from tests.support.runner import Cli, Outcome

ROOT = typer.main.get_command(application())
BREAKS = " \t\n\"'><=;|&(:"
FREE = {  # the metavars of values that no list can have
    *("A-B", "ADDRESS", "BOOKIE", "BUCKET", "BUNDLE", "CLASS", "CODE", "COLUMN", "COLUMN,...", "DURATION"),
    *("GROUP", "HOST", "ID", "JSON", "KEY", "KEY:VALUE", "KEY=VALUE", "KEY=VALUE,...", "LIMIT", "MASTER"),
    *("MINUTES", "MODULE:CLASS", "MS", "N", "N,...", "NAME", "NAME,...", "NAMES", "POSITION", "PROTOCOL"),
    *("RACK", "REGION", "ROLE", "ROLE,...", "SCHEMA", "SETTING", "SIZE", "TEMPLATE", "TEXT"),
    *("TIME", "URL", "VALUE", "[SECONDS]", "auto", "json", *SECRETS),
}  # fmt: skip


def named(kind: str, beginning: str, line: Position) -> list[str]:
    return {
        "TENANT": ["public", "pulsar"],
        "NAMESPACE": ["public/default"],
        "TOPIC": ["orders", "-force", "a\nb"],
        "SUBSCRIPTION": [f"of {line.values.get('TOPIC')}"],
        "CONTEXT": ["prod", str(line.options.get("web_url"))],
    }.get(kind, [kind])


def offered(line: str) -> list[str] | None:
    typed = typed_line(line)
    found = candidates(ROOT, typed.words, typed.current, named)
    return None if found is None else [each.word for each in found]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tenan", ["tenants"]),
        ("tenants cr", ["create"]),
        ("tenants ", ["list", "get", "create", "update", "delete"]),
        ("topics comp", ["compact", "compaction-status"]),
        ("tenants get pub", ["public"]),
        ("--context prod tenants get ", ["public", "pulsar"]),
        ("topics stats or", ["orders"]),
        ("topics stats orders or", []),
        ("topics delete orders or", ["orders"]),
        ("topics stats ", ["orders"]),
        ("topics stats -- ", ["orders", "-force"]),
        ("topics stats -o js", ["json", "jsonl"]),
        ("topics stats --output=js", ["--output=json", "--output=jsonl"]),
        ("topics compact t --skip", ["--skip-if-running"]),
        ("topics stats --conte", ["--context"]),
        ("--context p", ["prod"]),
        ("--admin-url http://a --context h", ["http://a"]),
        ("context use p", ["prod"]),
        ("consume t -s ", ["of t"]),
        ("subscriptions peek t ", ["of t"]),
        ("consume t -t ", ["Exclusive", "Shared", "Failover", "Key_Shared"]),
        ("topics set-subscription-types-enabled t -t Shared,Fa", ["Shared,Failover"]),
        ("migrate a b --topic or", ["orders"]),
        ("--color a", ["auto", "always"]),
        ("completion z", ["zsh"]),
        ("produce t --lines li", None),
        ("batch ", None),
        ("no-such-noun x", []),
    ],
)
def test_a_word_is_completed_by_what_may_be_there(line: str, words: list[str] | None) -> None:
    assert offered(line) == words


def test_a_candidate_has_a_summary() -> None:
    found = candidates(ROOT, ["tenants"], "cr", named)
    assert found == [Candidate("create", "Create a tenant.")]


def options_with_words(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, TyperOption]]:
    for option in command.params:
        if isinstance(option, TyperOption) and takes_value(option) and not option.hidden:
            yield " ".join([*words, option.opts[0]]), option
    if isinstance(command, Group):
        for name in command.list_commands(None):
            yield from options_with_words(command.commands[name], (*words, name))


def test_every_option_whose_words_are_known_is_completed() -> None:
    options = dict(options_with_words(ROOT))
    silent = [
        line for line, option in options.items() if (option.metavar or "") not in FREE and offered(f"{line} ") == []
    ]
    assert len(options) > 500
    assert silent == []


def test_every_output_option_offers_formats() -> None:
    options = dict(options_with_words(ROOT))
    formats = {line: offered(f"{line} ") for line, option in options.items() if option.metavar == "FORMAT"}
    assert len(formats) > 300
    assert [line for line, words in formats.items() if not {"json", "jsonl"} & set(words or ())] == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a b", TypedLine(["a"], "b", "b")),
        ("a b ", TypedLine(["a", "b"])),
        ("", TypedLine([])),
        ("a 'b c' 'd e", TypedLine(["a", "b c"], "d e", "'d e", "'")),
        ('a "d \\"e', TypedLine(["a"], 'd "e', '"d \\"e', '"')),
        ("a\\ b c\\ ", TypedLine(["a b"], "c ", "c\\ ")),
        ("a b\\", TypedLine(["a"], "b", "b\\")),
        ("a x'y z'w", TypedLine(["a"], "xy zw", "x'y z'w")),
        ("a\nb", TypedLine(["a"], "b", "b")),
    ],
)
def test_a_line_is_split_before_it_is_complete(text: str, line: TypedLine) -> None:
    assert typed_line(text) == line


def test_the_name_of_the_program_and_variables_before_it_are_left_out() -> None:
    assert without_program(["A=1", "./pulsarctl", "b=2"]) == ["b=2"]
    assert without_program(["A=1"]) == []


@pytest.mark.parametrize(
    ("text", "words", "inserted"),
    [
        ("a persistent://t/n/x", ["persistent://t/n/xy"], ["//t/n/xy"]),
        ("a --context=p", ["--context=prod"], ["prod"]),
        ("a b\\:c\\ d", ["b:c de"], ["b:c de"]),
        ("a 'b", ["b$(id)", "b c", "bc:d"], ["bc:d"]),
        ("a 'b'c", ["bcd"], []),
        ('a "b', ["b/"], ["b/", "b/..."]),
        ('a "b', ["b/", "bc/"], ["b/", "bc/"]),
        ("a b", ["b/"], ["b/"]),
    ],
)
def test_bash_replaces_a_word_from_its_last_break(text: str, words: list[str], inserted: list[str]) -> None:
    found = for_bash(typed_line(text), [Candidate(word) for word in words], BREAKS)
    assert [each.word for each in found] == inserted


@pytest.fixture
def shop(cli: Cli) -> Cli:
    for words in (
        ["tenants", "create", "shop"],
        ["namespaces", "create", "shop/orders"],
        ["topics", "create-partitioned", "shop/orders/new", "-p", "2"],
        ["topics", "create", "shop/orders/old"],
        ["topics", "create-subscription", "shop/orders/old", "-s", "books"],
        ["topics", "create", "plain"],
        ["scalable-topics", "create", "shop/orders/growing"],
        ["topics", "create", "non-persistent://shop/orders/fast"],
    ):
        assert cli(*words).exit_code in (0, 6)
    return cli


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("tenants get s", ["shop"]),
        ("namespaces topics sh", ["shop/"]),
        ("namespaces topics shop/", ["shop/orders"]),
        ("namespaces topics nix/", []),
        ("topics stats pl", ["plain"]),
        ("topics stats shop/o", ["shop/orders/"]),
        ("topics stats shop/orders/", ["shop/orders/new", "shop/orders/old"]),
        ("topics stats persistent://shop/orders/o", ["persistent://shop/orders/old"]),
        ("topics stats non-persistent://shop/orders/", ["non-persistent://shop/orders/fast"]),
        ("ops export topic://shop/orders/", ["topic://shop/orders/growing"]),
        ("consume shop/orders/old -s ", ["books"]),
        ("clusters get s", ["standalone"]),
        ("--admin-url http://127.0.0.1:1 tenants get ", []),
        ("--embedded data tenants get ", []),
    ],
)
def test_names_come_from_the_cluster_up_to_the_next_slash(shop: Cli, line: str, expected: list[str]) -> None:
    assert shop("complete", stdin=f"pulsarctl {line}\n") == Outcome(0, "".join(f"{name}\n" for name in expected), "")


def test_contexts_come_from_their_file(cli_alone: Cli) -> None:
    assert cli_alone("context", "create", "prod", "--admin-url", "http://prod:8080").exit_code == 0
    assert cli_alone("complete", stdin="pulsarctl context use p\n") == Outcome(0, "prod\n", "")


def test_the_exit_code_says_that_a_word_is_the_name_of_a_file(cli_alone: Cli) -> None:
    assert cli_alone("complete", stdin="pulsarctl batch \n") == Outcome(1, "", "")
