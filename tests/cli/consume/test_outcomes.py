"""The last line of `consume` says what happened to the messages."""

import pytest

from tests.support.runner import Cli


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ((), "1 messages successfully consumed\n"),
        (("--no-ack",), "1 messages received and not acknowledged\n"),
        (("--nack",), "1 messages negatively acknowledged\n"),
    ],
)
def test_the_run_ends_with_what_happened_to_the_messages(
    cli: Cli, topic: str, option: tuple[str, ...], told: str
) -> None:
    cli("produce", topic, "-m", "x")
    outcome = cli("consume", topic, "-s", "s", "-t", "Shared", "-p", "Earliest", "-n", "1", *option)
    assert (outcome.exit_code, outcome.stderr) == (0, told)
