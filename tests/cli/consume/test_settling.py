"""What `consume` does with a printed message: acknowledges it, negatively acknowledges it, or neither; dead letters."""

import pulsar
import pytest

from tests.cli.consume.consumed import consumed
from tests.cli.publishing import publish
from tests.support.runner import Cli

SHARED = ("-t", "Shared", "-s", "s", "-p", "Earliest")


def test_a_redelivered_message_has_its_redelivery_count(cli: Cli, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, b"a")
    words = ("consume", topic, *SHARED, "--nack", "--nack-delay", "100ms", "-n", "3", "-F", "%v %a{redelivery}\\n")
    assert cli(*words) == consumed("a 0\na 1\na 2\n", 3, "negatively acknowledged")


def test_a_message_becomes_a_dead_letter_after_the_maximum_redeliveries(
    cli: Cli, client: pulsar.Client, topic: str
) -> None:
    publish(client, topic, b"a")
    words = ("--nack", "--nack-delay", "100ms", "--dlq", "auto", "--max-redeliveries", "2", "--idle-timeout", "2s")
    assert cli("consume", topic, *SHARED, *words, "-F", "%v\\n") == consumed("a\na\na\n", 3, "negatively acknowledged")
    assert cli("consume", f"{topic}-s-DLQ", "-p", "Earliest", "-e", "-F", "%v\\n") == consumed("a\n", 1)


def test_dead_letters_go_to_the_named_topic(cli: Cli, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, b"a")
    words = ("--nack", "--nack-delay", "100ms", "--dlq", f"{topic}-dead", "--max-redeliveries", "1")
    assert cli("consume", topic, *SHARED, *words, "--idle-timeout", "2s", "-F", "%v\\n") == consumed(
        "a\na\n", 2, "negatively acknowledged"
    )
    assert cli("consume", f"{topic}-dead", "-p", "Earliest", "-e", "-F", "%v\\n") == consumed("a\n", 1)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--nack", "--no-ack"), "cannot combine --no-ack and --nack"),
        (("--dlq", "auto"), "--dlq requires a Shared or Key_Shared subscription"),
        (("--hash-range", "0-9"), "--hash-range and --allow-out-of-order require a Key_Shared subscription"),
        (("-t", "Key_Shared", "--hash-range", "9-0"), "'9-0' is not a hash range"),
        (("-t", "Key_Shared", "--hash-range", "0-65536"), "'0-65536' is not a hash range"),
        (
            ("-t", "Key_Shared", "--hash-range", "5-9", "--hash-range", "0-5"),
            "cannot use --hash-range: the ranges overlap at 5",
        ),
        (("--ack-timeout", "1s"), "the ack timeout must be at least 10 s"),
        (("--regex", "--regex-mode", "odd"), "unknown kind of topics 'odd'"),
    ],
)
def test_an_invalid_command_line_is_refused(cli: Cli, words: tuple[str, ...], problem: str) -> None:
    outcome = cli("consume", "t", *words)
    assert outcome.exit_code == 2
    assert problem in outcome.stderr
