"""What the official client's log tells of the broker's words."""

import pytest

from pulsarctl.client.native_log import LOG_BYTES_MAX, NativeLog
from pulsarctl.errors import UsageProblem


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("WARN  [1] ClientConnection:1521 | [a -> b] Received send error from server: t: disk full", "t: disk full"),
        (
            "WARN  [1] ClientConnection:1731 | [a -> b] Received error response from server: ResultNotAllowedError "
            "(Topic[t] doesn't support Shared sub type! (x)) -- req_id: 0",
            "Topic[t] doesn't support Shared sub type! (x)",
        ),
        (
            "ERROR [1] ClientConnection:1575 | [a -> b] Failed partition-metadata lookup req_id: 3 error: X "
            "msg: Namespace a/b does not exist",
            "Namespace a/b does not exist",
        ),
        ("ERROR [1] ClientConnection:900 | [a -> b] Connection already disconnected", None),
    ],
)
def test_the_words_of_the_broker_are_found(line: str, words: str | None) -> None:
    log = NativeLog("error")
    assert log.path is not None
    log.path.write_text(f"2026-01-01 00:00:00.000 {line}\n")
    assert log.said() == words
    assert log.said(since=log.position()) is None
    log.close()


def test_a_log_that_has_grown_too_large_is_emptied() -> None:
    log = NativeLog("error")
    path = log.path
    assert path is not None
    path.write_bytes(b"x" * (LOG_BYTES_MAX + 1))
    log.bound()
    assert path.stat().st_size == 0
    log.close()
    assert not path.exists()


def test_an_unknown_level_is_a_usage_problem() -> None:
    with pytest.raises(UsageProblem, match="unknown log level 'loud'"):
        NativeLog("loud")
