"""The exit codes of a command that writes to a topic are those of `produce`."""

import pytest

from pulsarctl.tables.access import LOCAL
from pulsarctl.transfer.target import AGAIN, problem


@pytest.mark.parametrize(
    ("result", "exit_code", "message"),
    [
        ("AuthorizationError", 4, "cannot write to t: not authorized"),
        ("AuthenticationError", 4, "cannot write to t: the broker does not accept the credentials"),
        ("NotConnected", 5, "cannot write to t: the connection to the broker is lost"),
        ("Timeout", 7, "cannot write to t: no answer from pulsar://localhost:6650 within 60 s"),
    ],
)
def test_a_result_of_the_client_has_one_exit_code(result: str, exit_code: int, message: str) -> None:
    failure = problem(LOCAL, "t", result)
    assert (failure.exit_code, failure.message, failure.hint) == (exit_code, message, AGAIN)


def test_a_terminated_topic_is_explained_because_to_run_the_command_again_does_not_help() -> None:
    failure = problem(LOCAL, "t", "TopicTerminated")
    assert (failure.exit_code, failure.message) == (6, "cannot write to t: the topic is terminated")
    assert failure.hint == "'pulsarctl explain TOPIC' says whether it was migrated to a scalable topic"
