"""`pulsarctl doctor bundle`: what it contains, and that no secret is in it."""

import base64
import json
import stat
import tarfile
from collections.abc import Callable
from pathlib import Path

import pulsar
import pytest
import yaml

from broker_core.config.sources import load_config
from broker_core.testing import EmbeddedBroker
from tests.cli.publishing import publish
from tests.support.runner import Cli


def contents(path: Path) -> dict[str, str]:
    """By name below the folder of the bundle."""
    with tarfile.open(path) as tar:
        members = {member.name.partition("/")[2]: tar.extractfile(member) for member in tar}
        return {name: file.read().decode() for name, file in members.items() if file is not None}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return tmp_path / "bundle.tar.gz"


def test_it_has_what_a_bug_report_needs(
    cli: Cli, client: pulsar.Client, topic: str, bundle: Path, tmp_path: Path
) -> None:
    client.subscribe(topic, "billing").close()
    publish(client, topic, "a message of the application")
    log = tmp_path / "broker.log"
    log.write_text("2026-01-01T00:00:00Z WARNING a line of the log\n")
    assert cli("doctor", "bundle", str(bundle), "-n", "public/default", "--log", str(log)).exit_code == 0
    found = contents(bundle)
    assert json.loads(found[f"topics/persistent/public/default/{topic}/stats.json"])["subscriptions"]["billing"]
    assert "ledgers" in json.loads(found[f"topics/persistent/public/default/{topic}/internal-stats.json"])
    assert json.loads(found["errors.json"]) == {}
    assert {"README.txt", "client/settings.json", "broker/configuration.json", "namespaces/public/default.json"} <= set(
        found
    )
    assert "pulsar_topics_count" in found["broker/metrics.txt"]
    assert "no-consumer" in [one["code"] for one in json.loads(found["doctor.json"])]
    assert found["logs/broker.log"] == log.read_text()
    assert "a message of the application" not in "".join(found.values())
    assert stat.S_IMODE(bundle.stat().st_mode) == 0o600


def test_a_file_that_exists_is_not_replaced(cli: Cli, bundle: Path) -> None:
    bundle.write_text("precious")
    outcome = cli("doctor", "bundle", str(bundle))
    assert (outcome.exit_code, bundle.read_text()) == (6, "precious")


def test_a_broker_that_does_not_answer_leaves_the_client_s_part(cli_alone: Cli, bundle: Path) -> None:
    nowhere = ("--admin-url", "http://127.0.0.1:1", "--url", "pulsar://127.0.0.1:1")
    assert cli_alone("doctor", "bundle", str(bundle), *nowhere).exit_code == 0
    found = contents(bundle)
    assert "client/settings.json" in found
    assert "cannot reach the broker" in json.loads(found["errors.json"])["broker/version.json"]


Plant = Callable[[str], str]  # makes a secret for a place


class Planted(list[str]):
    """The secrets that were made."""

    def __call__(self, place: str) -> str:
        self.append(base64.b64encode(f"planted-in-{place}-{'0123456789' * 3}".encode()).decode())
        return self[-1]


def test_secrets_planted_everywhere_are_not_in_the_bundle(bundle: Path, tmp_path: Path) -> None:
    secret = Planted()
    options = [f"tokenSecretKey=data:;base64,{secret('broker')}", "brokerServicePort=0", "webServicePort=0"]
    options.append("offloadAllowedStores=s3://bucket")
    with EmbeddedBroker(tmp_path / "data", config=load_config(environment={}, options=options).config) as broker:
        found = _bundle_with_secrets(broker, bundle, tmp_path, secret)
    assert "***" in json.loads(found["broker/configuration.json"])["tokenSecretKey"]
    assert "audit" in found["topics/persistent/public/default/orders/stats.json"]
    assert [(name, each) for name, text in found.items() for each in secret if each in text or each in name] == []
    assert len(secret) == 19


def _bundle_with_secrets(broker: EmbeddedBroker, bundle: Path, tmp_path: Path, secret: Planted) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    cli = Cli(tmp_path / "home", broker.http_url, broker.service_url)
    _plant_in_client(cli, tmp_path, secret)
    _plant_in_broker(cli, secret)
    client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    producer = client.create_producer("orders", properties={"password": secret("producer")})
    consumer = client.subscribe("orders", "billing", properties={"apiKey": secret("consumer")})
    log = tmp_path / "broker.log"
    log.write_text(
        f"connecting with {secret[1]}\n"  # learned from the settings
        f"authParams=token:{secret('log')}\n"
        f'{{"password": "{secret("log-json")}"}}\n'
        f"http://admin:{secret('log-url')}@host:8080/admin\n"
    )
    outcome = cli("doctor", "bundle", str(bundle), "--log", str(log))
    client.close()
    assert producer is not None and consumer is not None  # connected until here
    assert outcome.exit_code == 0, outcome.stderr
    return contents(bundle)


def _plant_in_client(cli: Cli, tmp_path: Path, secret: Plant) -> None:
    token_file = tmp_path / "token"
    token_file.write_text(secret("token-file"))
    contexts = tmp_path / "contexts"
    contexts.write_text(
        yaml.safe_dump(
            {
                "contexts": {"prod": {"admin-service-url": f"http://user:{secret('context-url')}@prod:8080"}},
                "auth-info": {"prod": {"token": secret("context-token"), "auth_params": secret("context-params")}},
            }
        )
    )
    parameters = json.dumps({"userId": "admin", "password": secret("environment-params")})
    cli.environ |= {
        "PULSARCTL_TOKEN_FILE": str(token_file),
        "PULSARCTL_TOKEN": secret("environment-token"),
        "PULSARCTL_AUTH_PARAMS": parameters,
        "PULSAR_EXTRA_SECRET": secret("environment"),
        "HTTP_PROXY": f"http://user:{secret('proxy')}@proxy:3128",
        "PULSARCONFIG": str(contexts),
    }


def _plant_in_broker(cli: Cli, secret: Plant) -> None:
    """Through the admin API, as an operator would."""
    offload = ("-d", "aws-s3", "-b", "bucket", "-r", "us-east-1", "-i", "id", "-s", secret("offload"))
    commands = [
        (
            "clusters",
            "create",
            "west",
            "--url",
            "http://w:8080",
            "--auth-plugin",
            "P",
            "--auth-parameters",
            secret("cluster"),
        ),
        ("topics", "create", "orders"),
        ("topics", "update-properties", "orders", "-p", f"token={secret('topic-property')}"),
        ("namespaces", "set-property", "public/default", "-k", "password", "-v", secret("namespace-property")),
        ("topics", "create-subscription", "orders", "-s", "audit", "-p", f"clientSecret={secret('subscription')}"),
        ("namespaces", "set-offload-policies", "public/default", *offload),
    ]
    for words in commands:
        outcome = cli(*words)
        assert outcome.exit_code == 0, (words, outcome.stderr)
