"""One secured broker and one issuer for the package; `secured` is the command line with TLS and no credentials."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from broker_core.testing import EmbeddedBroker
from tests.cli.auth.secured_cluster import Credentials, issuer, start_broker
from tests.support.authority import Authority
from tests.support.http_stub import HttpStub
from tests.support.runner import Cli, Outcome

Run = Callable[..., Outcome]


@pytest.fixture(scope="package")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="package")
def broker(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[EmbeddedBroker]:
    broker = start_broker(tmp_path_factory.mktemp("broker"), authority)
    yield broker
    broker.stop()


@pytest.fixture(scope="package")
def oauth_issuer() -> Iterator[HttpStub]:
    with issuer() as stub:
        yield stub


@pytest.fixture(scope="package")
def credentials(tmp_path_factory: pytest.TempPathFactory, authority: Authority, oauth_issuer: HttpStub) -> Credentials:
    return Credentials(tmp_path_factory.mktemp("credentials"), authority, oauth_issuer.url)


@pytest.fixture
def secured(tmp_path: Path, broker: EmbeddedBroker, authority: Authority) -> Run:
    cli = Cli(tmp_path, broker.broker.http_url_tls, broker.broker.service_url_tls)

    def run(*words: str, stdin: str | bytes | None = None) -> Outcome:
        return cli(*words, "--tls-trust-cert", str(authority.file), stdin=stdin)

    return run
