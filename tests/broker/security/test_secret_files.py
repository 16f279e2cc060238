"""A broker says at its start which files with secrets other users can access."""

from __future__ import annotations

import base64
import logging
from pathlib import Path
from typing import Any

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.security import SecurityConfig
from broker_core.config.tls import TlsConfig
from broker_core.security.secret_files import open_to_others
from broker_core.testing import EmbeddedBroker
from tests.support.secured import SECRET, SECRET_URL, config

FIELDS = {"token_secret_key": "tokenSecretKey", "basic_file": "basicAuthConf", "audit_file": "auditLogFile"}


def secret(folder: Path, mode: int) -> Path:
    file = folder / "secret"
    file.write_bytes(SECRET)
    file.chmod(mode)
    return file


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660])
@pytest.mark.parametrize("field", sorted(FIELDS))
def test_a_secret_that_others_can_access_is_named(tmp_path: Path, field: str, mode: int) -> None:
    file = secret(tmp_path, mode)
    given: dict[str, Any] = {field: str(file)}
    expected = f"{FIELDS[field]}: other users can access {file} (mode {mode:04o}); run chmod 600 {file}"
    assert list(open_to_others(BrokerConfig(security=SecurityConfig(**given)))) == [expected]


def test_the_key_of_the_certificate_counts(tmp_path: Path) -> None:
    [line] = open_to_others(BrokerConfig(tls=TlsConfig(key_file=str(secret(tmp_path, 0o644)))))
    assert line.startswith("tlsKeyFilePath: other users can access")


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_private_secret_is_not_named(tmp_path: Path, mode: int) -> None:
    given = SecurityConfig(token_secret_key=f"file://{secret(tmp_path, mode)}")
    assert list(open_to_others(BrokerConfig(security=given))) == []


@pytest.mark.parametrize("value", ["", SECRET_URL, base64.b64encode(SECRET).decode(), "file:///nonexistent"])
def test_a_secret_that_is_no_file_is_not_named(value: str) -> None:
    assert list(open_to_others(BrokerConfig(security=SecurityConfig(token_secret_key=value)))) == []


def test_the_warning_is_in_the_log_of_the_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = secret(tmp_path, 0o644)
    with caplog.at_level(logging.WARNING), EmbeddedBroker(config=config(token_secret_key=f"file://{file}")):
        assert f"tokenSecretKey: other users can access {file}" in caplog.text
