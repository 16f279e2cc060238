"""`pulsarctl tokens`: keys and tokens in the forms of Pulsar's tools."""

import base64
import stat
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives import serialization

from tests.support.runner import Cli, Outcome


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def secret(cli_alone: Cli, tmp_path: Path) -> Path:
    file = tmp_path / "secret.key"
    assert cli_alone("tokens", "create-secret-key", "--output-file", str(file)) == Outcome(0, "", "")
    return file


def test_a_secret_key_is_a_private_file_of_raw_bytes(secret: Path) -> None:
    assert (len(secret.read_bytes()), mode(secret)) == (32, 0o600)


def test_a_key_is_not_overwritten_unless_asked(cli_alone: Cli, secret: Path) -> None:
    before = secret.read_bytes()
    refused = cli_alone("tokens", "create-secret-key", "--output-file", str(secret))
    assert refused.exit_code == 6
    assert "--force" in refused.stderr
    assert secret.read_bytes() == before
    assert cli_alone("tokens", "create-secret-key", "--output-file", str(secret), "--force").exit_code == 0
    assert secret.read_bytes() != before


def test_a_name_that_only_looks_free_is_not_taken_over(cli_alone: Cli, tmp_path: Path) -> None:
    name = tmp_path / "secret.key"
    name.symlink_to(tmp_path / "nothing")
    assert cli_alone("tokens", "create-secret-key", "--output-file", str(name)).exit_code == 6
    assert name.is_symlink()


@pytest.mark.parametrize(("algorithm", "size"), [("HS256", 32), ("HS384", 48), ("HS512", 64)])
def test_a_secret_key_on_stdout_may_be_base64(cli_alone: Cli, algorithm: str, size: int) -> None:
    found = cli_alone("tokens", "create-secret-key", "-a", algorithm, "-b")
    assert len(base64.b64decode(found.stdout, validate=True)) == size


def test_a_token_of_a_secret_key_is_valid_with_it(cli_alone: Cli, secret: Path) -> None:
    made = cli_alone("tokens", "create", "-sk", f"file://{secret}", "-s", "alice", "-e", "1h")
    token = made.stdout.strip()
    assert jwt.decode(token, secret.read_bytes(), ["HS256"])["sub"] == "alice"
    shown = cli_alone("tokens", "validate", token, "-sk", str(secret), "-o", "json")
    assert (shown.exit_code, '"alice"' in shown.stdout) == (0, True)


@pytest.mark.parametrize("algorithm", ["RS256", "PS512", "ES256"])
def test_a_token_of_a_private_key_is_valid_with_its_public_key(cli_alone: Cli, tmp_path: Path, algorithm: str) -> None:
    private, public = tmp_path / "private.key", tmp_path / "public.key"
    options = ("--output-private-key", str(private), "--output-public-key", str(public), "-a", algorithm)
    assert cli_alone("tokens", "create-key-pair", *options) == Outcome(0, "", "")
    assert (mode(private), mode(public)) == (0o600, 0o600)
    assert serialization.load_der_private_key(private.read_bytes(), None)
    token = cli_alone("tokens", "create", "-pk", str(private), "-s", "alice", "-a", algorithm).stdout.strip()
    assert jwt.get_unverified_header(token)["alg"] == algorithm
    assert cli_alone("tokens", "validate", token, "-pk", str(public)).exit_code == 0
    assert cli_alone("tokens", "create-key-pair", *options).exit_code == 6


def test_show_prints_a_token_that_nothing_has_verified(cli_alone: Cli, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(jwt.encode({"sub": "alice"}, b"k" * 32, "HS256") + "\n")
    shown = cli_alone("tokens", "show", "-f", str(file))
    assert shown.stdout.splitlines()[1:] == ["---", '{"sub":"alice"}']


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("create", "-s", "alice"), 2),
        (("create", "-s", "alice", "-sk", "/no/such/file"), 2),
        (("create-secret-key", "-a", "RS256"), 2),
        (("show",), 2),
        (("show", "garbage"), 1),
        (("validate", "garbage", "-sk", base64.b64encode(b"k" * 32).decode()), 1),
        (("validate", jwt.encode({"sub": "a"}, b"x" * 32), "-sk", base64.b64encode(b"k" * 32).decode()), 1),
        (("validate", jwt.encode({"sub": "a", "exp": 1}, b"k" * 32), "-sk", base64.b64encode(b"k" * 32).decode()), 1),
    ],
)
def test_mistakes_are_reported(cli_alone: Cli, arguments: tuple[str, ...], code: int) -> None:
    found = cli_alone("tokens", *arguments)
    assert (found.exit_code, found.stdout) == (code, "")
    assert found.stderr


@pytest.mark.parametrize("option", ["-o", "--output"])
def test_a_file_as_the_output_format_does_not_print_the_secret_key(cli_alone: Cli, option: str) -> None:
    outcome = cli_alone("tokens", "create-secret-key", option, "my-secret.key")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "unknown output format 'my-secret.key'" in outcome.stderr
    assert "hint: name the file of the key with --output-file FILE" in outcome.stderr
