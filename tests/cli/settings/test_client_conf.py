"""A client.conf that cannot be used is a usage problem that names the file."""

from pathlib import Path

import pytest

from tests.support.runner import Cli


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (b"\xff\xfe", "it is not UTF-8 (invalid start byte at byte 0)"),
        (b"webServiceUrl: 2001-99-99", "month must be in 1..12"),
        (b"[" * 50_000, "it is not YAML: "),
        (b"- a", "it is not a mapping of keys"),
        (b"webServiceUrl: 0123", "cannot use webServiceUrl in "),
        (b"webServiceUrl: [http://127.0.0.1:1]", "cannot use webServiceUrl in "),
    ],
)
def test_a_file_that_cannot_be_used_is_a_usage_problem(
    cli_alone: Cli, tmp_path: Path, document: bytes, reason: str
) -> None:
    path = tmp_path / "client.yaml"
    path.write_bytes(document)
    outcome = cli_alone("--config-file", str(path), "tenants", "list")
    assert outcome.exit_code == 2
    assert str(path) in outcome.stderr and reason in outcome.stderr
