"""A secret is not shown, whichever option it is given through."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup, TyperOption

from pulsarctl.output.redaction import forms_masked
from pulsarctl.settings.client_security import SECRETS
from pulsarctl.shell.metavars import is_secret, takes_value
from pulsarctl.shell.options import shared
from pulsarctl.shell.secret_words import redacted
from tests.cli.parsed import root
from tests.support.runner import Cli

SECRET = "hunter2hunter2"
SPEAKS = re.compile("token|secret|passw|pwd|credential|private.?key|api.?key|plugin.?param|auth.?param", re.IGNORECASE)
OF_A_NAME = ("FILE", "CLASS", "NAME", "NAMES", "ROLE", "ID", "URL")  # names of things, which are no secrets themselves
FORMS = (
    f"data:application/json;base64,{SECRET}",
    f'data:application/json,{{"client_id":"me","client_secret":"{SECRET}"}}',
    f"s3://AKIA:{SECRET}@bucket/prefix?region=r",
    f"s3://me:/{SECRET}@bucket",
    f"s3://bucket/prefix?region=r&secret_key={SECRET}",
    f"abfss://c@account.dfs.core.windows.net/lake?sv=1&sig={SECRET}",
    f"https://me:{SECRET}@host:8443",
    f"spark.hadoop.fs.s3a.secret.key={SECRET}",
    f"spark.hadoop.fs.azure.account.key.a.dfs.core.windows.net={SECRET}",
    f"password=a,b;c '{SECRET}",
    f'{{"config": {{"password": "a {SECRET}"}}}}',
    f"Authorization:Bearer {SECRET}",
)


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    if isinstance(command, TyperGroup):
        for name, child in command.commands.items():
            yield from _commands(child, (*path, name))


def _options() -> Iterator[tuple[tuple[str, ...], TyperOption]]:
    """The options that take a value, each as declared once, with a command that has it."""
    seen = set()
    for path, command in _commands(root()):
        for option in command.params:
            key = (tuple(option.opts), option.metavar, getattr(option, "help", None))
            if isinstance(option, TyperOption) and takes_value(option) and key not in seen:
                seen.add(key)
                yield path, option


OPTIONS = list(_options())


def test_an_option_whose_name_or_help_speaks_of_a_secret_declares_it() -> None:
    silent = []
    for path, option in OPTIONS:
        help = re.sub("--[a-z-]+|public key", "", option.help or "", flags=re.IGNORECASE)  # that of another option
        speaks = any(map(SPEAKS.search, (*option.opts, help)))
        if speaks and not is_secret(option) and option.metavar not in OF_A_NAME:
            silent.append((*path, *option.opts, option.help))
    assert silent == []


def test_the_settings_and_the_shared_options_declare_the_same_secrets() -> None:
    assert tuple(option.name for option in shared() if is_secret(option)) == SECRETS


def test_a_secret_of_an_option_that_declares_it_is_masked_in_each_notation() -> None:
    for path, option in OPTIONS:
        for name in option.opts if is_secret(option) else ():
            joined = f"{name}={SECRET}" if name.startswith("--") else f"{name}{SECRET}"
            for words in ((*path, name, SECRET), (*path, joined), (*path, name, f"-{SECRET}", "name")):
                assert SECRET not in " ".join(redacted(words)), words


@pytest.mark.parametrize("text", FORMS)
def test_a_secret_with_a_name_or_a_form_is_masked_in_the_value_of_each_option(text: str) -> None:
    for path, option in OPTIONS:
        name = max(option.opts, key=len)
        for words in ((*path, name, text), (*path, f"{name}={text}"), (*path, text)):
            assert SECRET not in " ".join(redacted(words)), words


@pytest.mark.parametrize(
    "line",
    [
        "brokers update-dynamic-config -c brokerClientAuthenticationParameters -v {}",
        "brokers update-dynamic-config -v {} --config=password",
        "brokers update-dynamic-config -cpassword -v{}",
        "brokers update-dynamic-config password {}",
        "namespaces set-property public/default -k password -v {}",
        "namespaces set-property public/default --value={} --key api-key",
    ],
)
def test_a_value_is_masked_if_another_option_names_a_secret(line: str) -> None:
    words = line.format(SECRET).split()
    assert redacted(words) == line.format("***").split()


@pytest.mark.parametrize(
    "path", ["brokers/configuration/password/{}", "namespaces/public/default/property/api%2Dkey/{}?a=b"]
)
def test_a_value_in_a_path_is_masked_if_its_key_names_a_secret(path: str) -> None:
    text = f"PUT http://localhost:8080/admin/v2/{path} answered 204"
    assert forms_masked(text.format(SECRET)) == text.format("***")


def test_a_dry_run_masks_secrets_in_the_path_and_in_the_body(tmp_path: Path) -> None:
    run = Cli(tmp_path, "http://127.0.0.1:1")
    parameters = ("--auth-plugin", "x", "--auth-parameters", SECRET)
    for words in (
        ("brokers", "update-dynamic-config", "-c", "password", "-v", SECRET),
        ("clusters", "create", "west", "--url", "http://west:8080", *parameters),
    ):
        shown = run("--dry-run", *words)
        assert shown.exit_code == 0, shown.stderr
        assert SECRET not in shown.stdout
        assert "***" in shown.stdout


@pytest.mark.parametrize(
    "line",
    [
        "brokers update-dynamic-config -c brokerDeduplicationEnabled -v true",
        "namespaces set-property public/default -k owner -v secrets-team",
        "ops backlog shop/* --key-file key.json --token-file /run/token --conf spark.executor.memory=4g",
        "ops lake t --to abfss://container@account.dfs.core.windows.net/lake",
        "ops export t --to s3://bucket/prefix?region=eu-west-1",
        'ops sql "SELECT value.token FROM t WHERE key = 5"',
        "",
        "topics create persistent://public/default/tokens",
        "tokens create-key-pair --output-private-key private.key --output-public-key public.key",
        "--admin-url http://127.0.0.1:8080/a@b topics stats t",
        "--auth-plugin org.apache.pulsar.client.impl.auth.AuthenticationToken sinks create --inputs a,b --ram 5",
    ],
)
def test_a_line_without_secrets_is_shown_as_it_is(line: str) -> None:
    words = shlex.split(line)
    assert redacted(words) == words
