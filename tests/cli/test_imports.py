"""What a command imports: start-up is most of what a short command costs, and one careless import doubles it."""

import pytest

from tests.cli.imported import imported_by, roots

HEAVY = ("rich", "pydantic", "msgspec", "urllib3", "asyncio", "aiohttp", "yaml", "pulsar", "google", "broker_core")
COMMANDS = "pulsarctl.commands."
TOPIC_PARTS = ("compaction", "lifecycle", "messages", "properties", "statistics", "subscriptions")

# An address where nothing listens: the command runs up to its request, which is where imports end.
NOWHERE = ["--admin-url", "http://127.0.0.1:1", "--no-context"]


def test_version_imports_no_framework() -> None:
    modules = imported_by(["--version"])
    assert "typer" not in modules
    assert not roots(modules) & set(HEAVY)


@pytest.mark.parametrize(
    ("arguments", "own"),
    [
        (["tenants", "list"], {"tenants"}),
        (["namespaces", "set-retention", "public/default", "-t", "1h", "-s", "1M"], {"namespaces"}),
        (["clusters", "get", "standalone"], {"clusters"}),
        (["brokers", "healthcheck"], {"brokers"}),
        (
            ["topics", "stats", "t"],
            {"topics", *(f"topics.{part}" for part in TOPIC_PARTS)},
        ),
        (["subscriptions", "skip", "t", "s", "-n", "1"], {"subscriptions"}),
    ],
)
def test_an_admin_command_imports_its_own_noun_and_nothing_heavy(arguments: list[str], own: set[str]) -> None:
    modules = imported_by([*arguments, *NOWHERE])
    assert "http.client" in modules, "the command did not get as far as its request"
    assert not roots(modules) & set(HEAVY)
    assert {name.removeprefix(COMMANDS) for name in modules if name.startswith(COMMANDS)} == own


def test_help_of_the_program_imports_no_command() -> None:
    modules = imported_by(["--help"])
    assert not [name for name in modules if name.startswith(COMMANDS)]
