"""Clients can make the broker log only a few lines of each kind, with the number of lines left out."""

import logging

import pytest

from broker_core.client_log import KINDS_MAX, LINES_PER_WINDOW, WINDOW_SECONDS, ClientLog, LineBudget


class Hours:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def hours() -> Hours:
    return Hours()


@pytest.fixture
def log(hours: Hours) -> ClientLog:
    return ClientLog("broker_core.test_client_log", LineBudget(hours))


def test_a_repeating_client_logs_only_a_few_lines(log: ClientLog, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(1000):
        log.warning("/10.0.0.1", "topic", "cannot read %d", number)
    assert [record.getMessage() for record in caplog.records] == [f"cannot read {n}" for n in range(LINES_PER_WINDOW)]


def test_after_the_window_a_line_says_how_many_were_left_out(
    log: ClientLog, hours: Hours, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(100):
        log.warning("/10.0.0.1", "topic", "cannot read it")
    hours.now += WINDOW_SECONDS
    caplog.clear()
    log.warning("/10.0.0.1", "topic", "cannot read it")
    log.warning("/10.0.0.1", "topic", "cannot read it")
    assert [vars(record).get("left_out") for record in caplog.records] == [100 - LINES_PER_WINDOW, None]


@pytest.mark.parametrize(
    "other", [("/10.0.0.2", "topic", "no"), ("/10.0.0.1", "else", "no"), ("/10.0.0.1", "t", "but")]
)
def test_another_client_topic_or_event_has_its_own_lines(
    log: ClientLog, caplog: pytest.LogCaptureFixture, other: tuple[str, str, str]
) -> None:
    for _ in range(100):
        log.warning("/10.0.0.1", "topic", "no")
    caplog.clear()
    log.warning(*other)
    assert len(caplog.records) == 1


def test_many_clients_together_have_a_limit_too(log: ClientLog, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(10 * KINDS_MAX):
        log.warning(f"/client-{number}", "topic", "no")
    assert len(caplog.records) == KINDS_MAX


def test_lines_below_the_log_level_do_not_count(log: ClientLog, hours: Hours, caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("broker_core.test_client_log")
    logger.setLevel(logging.ERROR)
    for _ in range(100):
        log.info("/10.0.0.1", "topic", "closing")
    logger.setLevel(logging.INFO)
    log.info("/10.0.0.1", "topic", "closing")
    logger.setLevel(logging.NOTSET)
    assert len(caplog.records) == 1


def test_a_name_that_a_client_chose_cannot_make_a_line_long(log: ClientLog, caplog: pytest.LogCaptureFixture) -> None:
    log.warning("/10.0.0.1", "topic", "closing the connection of %s: %s", "/10.0.0.1", ValueError("x" * 100_000))
    [sentence] = [record.getMessage() for record in caplog.records]
    assert len(sentence) < 1_000
    assert sentence.endswith("xxx... (100,000 characters)")
