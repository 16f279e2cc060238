"""Failed attempts slow an address down, and the audit log says what happened."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path

import pytest

from broker_core.clock import SystemClock
from broker_core.security import audit as audit_log
from broker_core.security.attempts import LONGEST_DELAY, SUBJECTS_MAX, Attempts
from broker_core.security.audit import EVENTS_MAX, AuditLog
from broker_core.security.principal import Principal
from broker_core.testing import EmbeddedBroker
from tests.support.clocks import StillClock
from tests.support.condition import wait_until
from tests.support.secured import ask, config, prepare


def test_answers_take_longer_with_each_failure_and_recover() -> None:
    clock = StillClock()
    attempts = Attempts(2, 0, clock)
    attempts.failed("a")
    assert attempts.delay("a") == 0
    delays = []
    for _ in range(20):
        attempts.failed("a")
        delays.append(attempts.delay("a"))
    assert delays == sorted(delays)
    assert (delays[0] > 0, delays[-1], attempts.delay("b")) == (True, LONGEST_DELAY, 0)
    clock.seconds += 61
    assert attempts.delay("a") == 0


def test_a_million_addresses_take_no_more_memory() -> None:
    attempts = Attempts(1, 0, SystemClock())
    for number in range(SUBJECTS_MAX + 10):
        attempts.failed(str(number))
    assert (attempts.delay("0"), attempts.delay(str(SUBJECTS_MAX)) > 0) == (0, True)


def test_the_audit_log_has_failures_denials_and_changes(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    with EmbeddedBroker(config=config(audit_file=str(file))) as broker:
        prepare(broker)
        assert ask(broker, "GET", "tenants?token=wrong", role="").status == 401
        assert ask(broker, "DELETE", "tenants/acme", role="nothing").status == 401
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    [failed] = [line for line in lines if line["event"] == "authentication"]
    assert (failed["outcome"], failed["reason"]) == ("failed", "not a token")
    denied = [line for line in lines if line["outcome"] == "denied"]
    assert [(line["role"], line["operation"], line["resource"]) for line in denied] == [
        ("nothing", "tenant:DELETE_TENANT", "acme")
    ]
    assert {"role": "admin", "request": "PUT /admin/v2/tenants/acme", "status": 204}.items() <= lines[0].items()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "wrong" not in file.read_text()


def test_a_name_cannot_forge_a_line_of_the_audit_log(tmp_path: Path) -> None:
    audit = AuditLog(str(tmp_path / "audit.jsonl"), SystemClock())
    audit.start()
    audit.denied(Principal('evil\n{"event":"x"}\x1b[2J'), "topic:PRODUCE", "t", "none", "1.2.3.4")
    audit.close()
    [line] = (tmp_path / "audit.jsonl").read_text().splitlines()
    assert "\x1b" not in line


def test_events_that_the_disk_is_too_slow_for_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    audit = AuditLog(str(file), SystemClock())
    for _ in range(EVENTS_MAX + 5):
        audit.failed("token", "wrong", "1.2.3.4")
    audit.start()
    wait_until(lambda: file.exists() and file.read_text().count("\n") == EVENTS_MAX, 10)
    audit.failed("token", "wrong", "1.2.3.4")
    audit.close()
    assert json.loads(file.read_text().splitlines()[-1])["missing"] == 5


def test_an_audit_log_that_hangs_does_not_keep_the_broker_from_stopping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(audit_log, "CLOSE_SECONDS", 0.2)
    pipe = tmp_path / "audit"
    os.mkfifo(pipe)  # opening it waits for a reader
    audit = AuditLog(str(pipe), SystemClock())
    audit.start()
    for _ in range(EVENTS_MAX + audit_log.BATCH + 1):
        audit.failed("token", "wrong", "1.2.3.4")
    closing = threading.Thread(target=audit.close, daemon=True)
    closing.start()
    closing.join(30)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # lets the writer go on, to a file from now on
    pipe.unlink()
    os.close(reader)
    assert not closing.is_alive()
    assert "lines of the audit log" in caplog.text
