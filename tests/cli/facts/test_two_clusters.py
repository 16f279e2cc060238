"""`produce` and `consume` warn if the admin API and the broker belong to two clusters."""

from collections.abc import Iterator

import pytest

from broker_core.testing import EmbeddedBroker
from tests.support.http_stub import HttpStub, Reply
from tests.support.runner import Cli

WORDS = pytest.mark.parametrize("words", [["produce", "-m", "a"], ["consume", "-e"]], ids=["produce", "consume"])


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(tmp_path_factory.mktemp("other")) as broker:
        yield broker


def address(broker: EmbeddedBroker) -> str:
    return broker.service_url.removeprefix("pulsar://")


@WORDS
def test_one_line_names_both_brokers(
    cli: Cli, pulsar_broker: EmbeddedBroker, other: EmbeddedBroker, topic: str, words: list[str]
) -> None:
    done = cli(*words, topic, "--url", other.service_url)
    assert done.exit_code == 0
    assert done.stderr.splitlines()[0] == (
        "warning: the admin API and the broker belong to two clusters: for the owner of a topic, the admin API names "
        f"{address(pulsar_broker)}, and the broker names {address(other)}"
    )
    assert "warning" not in cli(*words, topic, "--url", other.service_url, "--quiet").stderr


def test_a_namespace_that_only_one_cluster_has_tells_them_apart(cli: Cli, other: EmbeddedBroker) -> None:
    assert cli("namespaces", "create", "public/only-there", "--admin-url", other.http_url).exit_code == 0
    done = cli("produce", "public/only-there/t", "-m", "a", "--url", other.service_url)
    assert f"the admin API does not know its namespace, and the broker names {address(other)}\n" in done.stderr


@WORDS
def test_addresses_of_one_cluster_from_two_sources_are_fine(
    cli: Cli, pulsar_broker: EmbeddedBroker, topic: str, words: list[str]
) -> None:
    assert "warning" not in cli(*words, topic, "--url", pulsar_broker.service_url).stderr


@WORDS
def test_an_admin_api_that_does_not_answer_is_no_matter(
    cli: Cli, pulsar_broker: EmbeddedBroker, topic: str, words: list[str]
) -> None:
    done = cli(*words, topic, "--admin-url", "http://127.0.0.1:1")
    assert (done.exit_code, "warning" in done.stderr) == (0, False)


def test_addresses_from_one_source_are_not_asked(cli: Cli, pulsar_broker: EmbeddedBroker, topic: str) -> None:
    with HttpStub(lambda request: Reply()) as admin:
        cli("produce", topic, "-m", "a", "--admin-url", admin.url, "--url", pulsar_broker.service_url)
        cli.environ["PULSARCTL_ADMIN_URL"] = admin.url
        cli("produce", topic, "-m", "a")
        assert admin.requests == []
