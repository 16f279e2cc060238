"""Every way to authenticate, with every kind of command, over TLS: the admin API, the official client, raw entries."""

import time

import pytest

from broker_core.testing import EmbeddedBroker
from tests.cli.auth.conftest import Run
from tests.cli.auth.secured_cluster import METHODS, Credentials
from tests.support.secured import NAMESPACE, PLAIN, token

COMMANDS = {
    "admin": ("topics", "list", NAMESPACE),
    "produce": ("produce", PLAIN, "-m", "hello"),
    "consume": ("consume", PLAIN, "-s", "by-method", "-n", "1", "--from", "earliest"),
    "read": ("read", PLAIN, "-n", "1", "--from", "earliest"),
}
EVERY_COMMAND = pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)


@pytest.fixture(scope="module")
def message(broker: EmbeddedBroker) -> None:
    """For the commands that read one."""
    from tests.support.secured import connect

    client = connect(broker, "admin")
    for _ in range(20):
        client.create_producer(PLAIN).send(b"hello")
    client.close()


@pytest.mark.usefixtures("message")
@pytest.mark.parametrize("method", METHODS)
@EVERY_COMMAND
def test_a_super_user_can_use_every_command(
    secured: Run, credentials: Credentials, method: str, words: tuple[str, ...]
) -> None:
    outcome = secured(*words, *credentials.options(method))
    assert outcome.exit_code == 0, outcome.stderr


@EVERY_COMMAND
@pytest.mark.parametrize("method", ["token", "password", "none"])
def test_wrong_credentials_are_an_authentication_error_at_once(
    secured: Run, credentials: Credentials, tmp_path: object, method: str, words: tuple[str, ...]
) -> None:
    wrong = {
        "token": ["--token", token("admin", exp=1)],
        "password": ["--user", "admin", "--password-file", credentials.token_file],
        "none": [],
    }[method]
    started = time.monotonic()
    outcome = secured(*words, *wrong)
    assert (outcome.exit_code, outcome.stdout) == (4, "")
    assert time.monotonic() - started < 5
    assert token("admin", exp=1) not in outcome.stderr
