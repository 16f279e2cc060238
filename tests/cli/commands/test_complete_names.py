"""Completion of names from the broker, up to the next slash; nothing if the broker cannot be reached."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.runner import Cli, Outcome

ROOT = Path(__file__).parents[3]


@pytest.fixture
def shop(cli: Cli) -> Cli:
    for words in (
        ["tenants", "create", "shop"],
        ["namespaces", "create", "shop/orders"],
        ["topics", "create-partitioned", "shop/orders/new", "-p", "2"],
        ["topics", "create", "shop/orders/old"],
        ["topics", "create", "plain"],
    ):
        assert cli(*words).exit_code in (0, 6)
    return cli


@pytest.mark.parametrize(
    ("kind", "prefix", "expected"),
    [
        ("TENANT", "", ["public", "pulsar", "shop"]),
        ("NAMESPACE", "sh", ["public/", "pulsar/", "shop/"]),
        ("NAMESPACE", "shop/", ["shop/orders"]),
        ("TOPIC", "pl", ["plain", "public/", "pulsar/", "shop/"]),
        ("TOPIC", "shop/o", ["shop/orders/"]),
        ("TOPIC", "shop/orders/", ["shop/orders/new", "shop/orders/old"]),
        ("SOMETHING", "", []),
        ("NAMESPACE", "nix/", []),
    ],
)
def test_names_are_completed_to_the_next_slash(shop: Cli, kind: str, prefix: str, expected: list[str]) -> None:
    assert shop("complete-names", kind, prefix) == Outcome(0, "".join(f"{name}\n" for name in expected), "")


def test_completion_without_a_broker_prints_nothing(cli_alone: Cli) -> None:
    assert cli_alone("complete-names", "TENANT", "--admin-url", "http://127.0.0.1:1") == Outcome(0, "", "")


def test_bash_offers_the_names_of_the_broker(shop: Cli) -> None:
    program = (
        f'source "{ROOT}/completions/pulsarctl.bash"; COMP_WORDS=(pulsarctl topics stats shop/orders/n); COMP_CWORD=3; '
        '_pulsarctl; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    environ = {**os.environ, **{key: value for key, value in shop.environ.items() if value is not None}}
    environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, timeout=60, env=environ)
    assert (done.stdout, done.stderr) == ("shop/orders/new\n", "")
