import io
import json
import logging
import re
from collections.abc import Iterator

import pytest

from broker_core.log import start_logging


@pytest.fixture(autouse=True)
def _restore_logger() -> Iterator[None]:
    broker = logging.getLogger("broker_core")
    before = (broker.handlers[:], broker.propagate, broker.level)
    yield
    broker.handlers[:], broker.propagate = before[0], before[1]
    broker.setLevel(before[2])


def lines_of(form: str, level: str = "info") -> tuple[logging.Logger, io.StringIO]:
    stream = io.StringIO()
    start_logging(form, level, stream)
    return logging.getLogger("broker_core.topic"), stream


def test_a_text_line_has_time_level_logger_message_and_fields() -> None:
    log, stream = lines_of("text")
    log.info("ledger %s rolled", 7, extra={"topic": "über uns", "entries": 5})
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO    broker_core\.topic: "
        r'ledger 7 rolled topic="über uns" entries=5\n',
        stream.getvalue(),
    )


def test_a_json_line_is_one_object_with_the_fields_as_keys() -> None:
    log, stream = lines_of("json")
    log.warning("disk\nfull", extra={"free_bytes": 5})
    line = json.loads(stream.getvalue())
    assert stream.getvalue().count("\n") == 1
    del line["time"]
    assert line == {
        "level": "warning",
        "logger": "broker_core.topic",
        "message": "disk\nfull",
        "free_bytes": 5,
    }


def test_a_line_of_text_stays_one_line_and_does_not_control_the_terminal() -> None:
    log, stream = lines_of("text")
    log.info("topic %s\r\n\x1b[2J\u202e über", "a\ud800", extra={"client": "x\x1b[31m\x9b"})
    assert stream.getvalue().endswith("topic a\\ud800\\r\\n\\x1b[2J\\u202e über client=x\\x1b[31m\\x9b\n")


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_long_text_keeps_its_beginning_and_its_end(form: str) -> None:
    """Two names of full length made a line of 1,613 characters."""
    log, stream = lines_of(form)
    log.warning("cannot close %s of %s: it is gone", "s" * 700, "t" * 900)
    line = stream.getvalue()
    assert len(line) < 800
    assert "cannot close ssss" in line and "tttt: it is gone" in line and "...(1029 characters left out)..." in line


def test_a_long_fact_is_shortened_in_text() -> None:
    log, stream = lines_of("text")
    log.info("rolled", extra={"topic": "t" * 1024})
    assert "...(424 characters left out)..." in stream.getvalue()


def test_an_exception_is_logged_with_its_traceback() -> None:
    log, stream = lines_of("json")
    try:
        raise OSError("gone")
    except OSError:
        log.exception("failed")
    assert json.loads(stream.getvalue())["exception"].endswith("OSError: gone")


def test_lines_below_the_level_are_not_written() -> None:
    log, stream = lines_of("text", "warning")
    log.info("quiet")
    log.warning("loud")
    assert stream.getvalue().endswith("loud\n")
    assert "quiet" not in stream.getvalue()


def test_starting_twice_writes_each_line_once() -> None:
    lines_of("text")
    log, stream = lines_of("text")
    log.info("once")
    assert stream.getvalue().count("once") == 1
