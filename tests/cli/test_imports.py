"""What a command imports. Start-up is most of the time of a short command, and one careless import doubles it."""

import subprocess
import sys

import pytest

from tests.cli.imported import imported_by, roots

HEAVY = ("rich", "pydantic", "msgspec", "urllib3", "asyncio", "aiohttp", "yaml", "pulsar", "google", "broker_core")
COMMANDS = "pulsarctl.commands."
TOPIC_PARTS = (
    "compaction",
    "copying",
    "cursor",
    "lifecycle",
    "messages",
    "offload_start",
    "offloading",
    "partitions",
    "placement",
    "properties",
    "request_table",
    "statistics",
    "subscriptions",
    "termination",
)

NAMESPACE_PARTS = ("bundles", "clusters", "groups", "permissions", "request_table")

# Nothing listens at this address. The command imports everything before its request fails.
NOWHERE = ["--admin-url", "http://127.0.0.1:1", "--no-context"]


def test_version_does_not_import_a_framework() -> None:
    modules = imported_by(["--version"])
    assert "typer" not in modules
    assert not roots(modules) & set(HEAVY)


@pytest.mark.parametrize(
    ("arguments", "own"),
    [
        (["tenants", "list"], {"tenants"}),
        (
            ["namespaces", "set-retention", "public/default", "-t", "1h", "-s", "1M"],
            {"namespaces", *(f"namespaces.{part}" for part in NAMESPACE_PARTS)},
        ),
        (["clusters", "get", "standalone"], {"clusters"}),
        (["brokers", "healthcheck"], {"brokers"}),
        (
            ["topics", "stats", "t"],
            {"topics", *(f"topics.{part}" for part in TOPIC_PARTS)},
        ),
        (["subscriptions", "skip", "t", "s", "-n", "1"], {"subscriptions"}),
    ],
)
def test_an_admin_command_imports_only_its_own_noun_and_light_modules(arguments: list[str], own: set[str]) -> None:
    modules = imported_by([*arguments, *NOWHERE])
    assert "http.client" in modules, "the command did not get as far as its request"
    assert not roots(modules) & set(HEAVY)
    assert "pulsarctl.auth.oauth2" not in modules
    assert {name.removeprefix(COMMANDS) for name in modules if name.startswith(COMMANDS)} == own


def test_help_of_the_program_does_not_import_commands() -> None:
    modules = imported_by(["--help"])
    assert not [name for name in modules if name.startswith(COMMANDS)]


def test_garbage_is_collected_while_a_command_runs() -> None:
    program = (
        "import atexit, gc, sys\n"
        "atexit.register(lambda: print(gc.isenabled()))\n"
        f"sys.argv[1:] = {['tenants', 'list', *NOWHERE]!r}\n"
        "from pulsarctl.main import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "True\n", done.stderr
