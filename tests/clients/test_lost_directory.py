"""When the data directory of a running broker is gone, it acknowledges nothing more and reports the reason."""

import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pulsar
import pytest

from tests.support.broker_process import BrokerProcess
from tests.support.condition import wait_until

pytestmark = pytest.mark.feature("durability")
PATIENCE_SECONDS = 30.0
QUIET = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path / "data").start()
    yield process
    process.kill()


def remove_all(path: Path) -> None:
    subprocess.run(["rm", "-rf", str(path)], check=True)


def remove_what_is_in_it(path: Path) -> None:
    for inside in path.iterdir():
        subprocess.run(["rm", "-rf", str(inside)], check=True)


def put_another_in_its_place(path: Path) -> None:
    aside = path.with_name("aside")
    path.rename(aside)
    shutil.copytree(aside, path)


def answer(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.parametrize("lose", [remove_all, remove_what_is_in_it, put_another_in_its_place], ids=lambda f: f.__name__)
def test_publishing_is_refused_when_the_directory_is_missing(
    broker: BrokerProcess, lose: Callable[[Path], None]
) -> None:
    client = pulsar.Client(broker.service_url, operation_timeout_seconds=2, logger=QUIET)
    try:
        producer = client.create_producer("t", send_timeout_millis=1000)
        producer.send(b"before")
        lose(broker.data_dir)
        wait_until(lambda: answer(broker.http_url + "/status.html")[0] == 503, PATIENCE_SECONDS)
        with pytest.raises(pulsar.PulsarException):
            producer.send(b"lost")
        with pytest.raises(pulsar.PulsarException):
            client.create_producer("t")
    finally:
        client.close()
    for path, expected in (("/status.html", 503), ("/admin/v2/brokers/health", 500)):
        status, reason = answer(broker.http_url + path)
        assert status == expected
        assert f"the data directory {broker.data_dir} was removed or replaced" in reason
    broker.stop()
    log = broker.log_tail(100_000)
    assert "Traceback" not in log
    assert log.count("Nothing is written until then") == 1


def test_nothing_is_acknowledged_after_the_directory_was_removed(broker: BrokerProcess) -> None:
    client = pulsar.Client(broker.service_url, logger=QUIET)
    try:
        producer = client.create_producer("t", send_timeout_millis=1000)
        producer.send(b"before")
        remove_all(broker.data_dir)
        with pytest.raises(pulsar.PulsarException):
            producer.send(b"the first one after it")
    finally:
        client.close()


def test_a_busy_broker_refuses_publishing_before_it_creates_new_files(broker: BrokerProcess) -> None:
    client = pulsar.Client(broker.service_url, logger=QUIET)
    try:
        producer = client.create_producer("t", send_timeout_millis=1000)
        producer.send(b"before")
        remove_all(broker.data_dir)
        with pytest.raises(pulsar.PulsarException):
            for _ in range(100_000):
                producer.send(b"at once")
    finally:
        client.close()
    assert not broker.data_dir.exists()
