"""`produce`, `consume`, and `read` with encrypted messages, together with the official client."""

from __future__ import annotations

import base64
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from broker_core.names import parse_topic
from broker_core.testing import EmbeddedBroker
from pulsarctl.encryption.key_source import public_key_file
from tests.cli.consume.consumed import consumed
from tests.support.runner import Cli, Outcome

KEYS = Path(__file__).parents[2] / "clients" / "keys"
PUBLIC = KEYS / "public.pem"
SEALED = "persistent://public/sealed/t"


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """The private key of PUBLIC, which only its owner can read."""
    file = tmp_path / "private.pem"
    shutil.copyfile(KEYS / "private.pem", file)
    file.chmod(0o600)
    return file


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """The private key of another key pair."""
    return _written(tmp_path / "other.pem", rsa.generate_private_key(public_exponent=65537, key_size=2048))


def _written(file: Path, key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> Path:
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    file.touch(0o600)
    file.write_bytes(key.private_bytes(pem, pkcs8, serialization.NoEncryption()))
    return file


def produce(cli: Cli, topic: str, *words: str) -> Outcome:
    return cli("produce", topic, "-ekn", "orders-key", "-ekv", str(PUBLIC), *words)


def consume(cli: Cli, topic: str, *words: str) -> Outcome:
    return cli("consume", topic, "-s", "s", "-p", "Earliest", "-e", "-F", "%v\\n", *words)


def read(cli: Cli, topic: str, *words: str) -> Outcome:
    return cli("read", topic, "-m", "earliest", "-e", "-F", "%v\\n", *words)


def by_official_client(client: pulsar.Client, topic: str, *values: bytes, **options: object) -> None:
    reader = pulsar.CryptoKeyReader(str(PUBLIC), "")
    producer = client.create_producer(topic, encryption_key="official", crypto_key_reader=reader, **options)
    for value in values:
        producer.send_async(value, lambda *_: None)
    producer.flush()
    producer.close()


def test_the_official_client_decrypts_what_produce_encrypts(
    cli: Cli, client: pulsar.Client, topic: str, private: Path
) -> None:
    consumer = client.subscribe(topic, "s", crypto_key_reader=pulsar.CryptoKeyReader("", str(private)))
    assert produce(cli, topic, "-m", "hello").exit_code == 0
    assert consumer.receive(5000).data() == b"hello"


@pytest.mark.parametrize("command", [consume, read])
def test_messages_of_the_official_client_are_decrypted(
    cli: Cli, client: pulsar.Client, topic: str, private: Path, command: type
) -> None:
    compression = pulsar.CompressionType.ZSTD
    by_official_client(client, topic, b"a", b"b" * 1000, b"c", batching_enabled=True, compression_type=compression)
    by_official_client(client, topic, b"d")
    assert command(cli, topic, "-ekv", f"file://{private}").stdout == f"a\n{'b' * 1000}\nc\nd\n"


def test_chunked_messages_are_decrypted(cli: Cli, client: pulsar.Client, topic: str, private: Path) -> None:
    large = os.urandom(6 << 20)
    by_official_client(client, topic, large, chunking_enabled=True, batching_enabled=False)
    outcome = cli("read", topic, "-m", "earliest", "-n", "1", "-F", "%v{base64}\n", "-ekv", str(private))
    assert base64.b64decode(outcome.stdout) == large


def test_read_decrypts_what_produce_encrypts_and_names_the_key(cli: Cli, topic: str, private: Path) -> None:
    produce(cli, topic, "-m", "hello", "-z", "lz4")
    words = ("read", topic, "-m", "earliest", "-e", "-F", "%v %a{encryption}\\n")
    assert cli(*words, "-ekv", str(private)).stdout == "hello orders-key\n"
    assert "hello" not in cli(*words).stdout


@pytest.mark.parametrize("command", [consume, read])
def test_a_message_for_another_key_ends_the_command_and_names_its_key(
    cli: Cli, topic: str, stranger: Path, command: type
) -> None:
    cli("produce", topic, "-m", "plain")
    produce(cli, topic, "-m", "secret")
    outcome = command(cli, topic, "-ekv", str(stranger))
    assert (outcome.exit_code, outcome.stdout) == (1, "plain\n")
    assert "it is encrypted for 'orders-key', and the private key is another one" in outcome.stderr


def test_without_a_key_consume_says_so_and_acknowledges_nothing(cli: Cli, topic: str, private: Path) -> None:
    produce(cli, topic, "-m", "secret")
    outcome = consume(cli, topic)
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert "it is encrypted for 'orders-key', and there is no private key" in outcome.stderr
    assert "-ekv" in outcome.stderr
    assert consume(cli, topic, "-ekv", str(private)) == consumed("secret\n", 1)


@pytest.mark.parametrize(
    ("command", "notice"),
    [(consume, "1 messages discarded: they cannot"), (read, "1 entries discarded: they cannot be decrypted")],
)
def test_messages_that_cannot_be_decrypted_are_discarded_and_counted(
    cli: Cli, topic: str, stranger: Path, command: type, notice: str
) -> None:
    produce(cli, topic, "-m", "secret")
    cli("produce", topic, "-m", "plain")
    outcome = command(cli, topic, "-ekv", str(stranger), "-ca", "DISCARD")
    assert (outcome.exit_code, outcome.stdout) == (0, "plain\n")
    assert notice in outcome.stderr


@pytest.mark.parametrize("command", [consume, read])
def test_encrypted_bytes_are_shown_on_request(cli: Cli, topic: str, stranger: Path, command: type) -> None:
    produce(cli, topic, "-m", "secret", "-db")
    outcome = command(cli, topic, "-ekv", str(stranger), "-ca", "consume", "-F", "%V\\n")
    assert (outcome.exit_code, outcome.stdout) == (0, f"{len('secret') + 16}\n")


def test_keys_come_from_an_environment_variable_and_a_data_url(
    cli: Cli, topic: str, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"data:application/x-pem-file;base64,{base64.b64encode(PUBLIC.read_bytes()).decode()}"
    assert cli("produce", topic, "-m", "hello", "-ekn", "k", "-ekv", url).exit_code == 0
    monkeypatch.setenv("ORDERS_KEY", private.read_text())
    assert consume(cli, topic, "-ekv", "env:ORDERS_KEY") == consumed("hello\n", 1)


def test_a_key_from_elsewhere_is_in_a_private_file_while_it_is_used() -> None:
    url = f"data:;base64,{base64.b64encode(PUBLIC.read_bytes()).decode()}"
    with public_key_file(url) as name:
        file = Path(name)
        assert [stat.S_IMODE(one.stat().st_mode) for one in (file, file.parent)] == [0o600, 0o700]
    assert not file.parent.exists()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("-ekn", "k"), "cannot encrypt with -ekn or -ekv alone"),
        (("-ekv", str(PUBLIC)), "cannot encrypt with -ekn or -ekv alone"),
        (("-ekn", "k", "-ekv", str(KEYS / "private.pem")), "holds a private key"),
        (("-ekn", "k", "-ekv", "/nonexistent"), "cannot read the key /nonexistent: No such file"),
        (("-ekn", "k", "-ekv", "env:NO_SUCH_KEY"), "there is no environment variable NO_SUCH_KEY"),
        (("-ekn", "k", "-ekv", "data:;base64,%%%"), "is not base64"),
        (("-ekn", "k", "-ekv", "data:;base64,aGVsbG8="), "the data: URL of -ekv holds no public key"),
    ],
)
def test_nothing_is_sent_in_the_clear_when_the_key_cannot_be_used(
    cli: Cli, topic: str, words: tuple[str, ...], reason: str
) -> None:
    outcome = cli("produce", topic, "-m", "secret", *words)
    assert outcome.exit_code == 2
    assert reason in outcome.stderr
    assert cli("read", topic, "-m", "earliest", "-e", "-F", "%v").stdout == ""


@pytest.mark.parametrize("command", [consume, read])
def test_a_private_key_that_every_user_can_read_is_refused(cli: Cli, topic: str, private: Path, command: type) -> None:
    private.chmod(0o644)
    outcome = command(cli, topic, "-ekv", str(private))
    assert outcome.exit_code == 2
    assert f"chmod 600 {private}" in outcome.stderr


def test_an_unknown_action_and_a_key_that_is_not_rsa_are_refused(cli: Cli, topic: str, tmp_path: Path) -> None:
    curve = _written(tmp_path / "curve.pem", ec.generate_private_key(ec.SECP256R1()))
    assert "not an RSA key" in read(cli, topic, "-ekv", str(curve)).stderr
    assert "unknown crypto failure action 'skip'" in read(cli, topic, "-ca", "skip").stderr


@pytest.fixture
def sealed(pulsar_broker: EmbeddedBroker) -> Iterator[str]:
    """A topic in a namespace that requires encryption."""
    tenancy, namespace = pulsar_broker.broker.tenancy, parse_topic(SEALED).namespace
    pulsar_broker.call(tenancy.create_namespace(namespace))
    pulsar_broker.call(tenancy.set_namespace_policies(namespace, encryption_required=True))
    yield SEALED


def test_a_topic_that_requires_encryption_refuses_plain_messages_with_the_reason(
    cli: Cli, sealed: str, private: Path
) -> None:
    outcome = cli("produce", sealed, "-m", "plain", "--timeout", "1s")
    assert outcome.exit_code == 1
    assert f"cannot produce to {sealed}: encryption is required" in outcome.stderr
    assert produce(cli, sealed, "-m", "secret").exit_code == 0
    assert read(cli, sealed, "-ekv", str(private)).stdout == "secret\n"
