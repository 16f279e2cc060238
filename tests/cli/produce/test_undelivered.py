"""Messages that the broker has not acknowledged when `produce` ends."""

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.testing import EmbeddedBroker
from tests.support.faulty_disk import FaultyDisk
from tests.support.program import Program, run


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk()


@pytest.fixture
def environ(disk: FaultyDisk) -> Iterator[dict[str, str]]:
    with EmbeddedBroker(disk=disk) as broker:
        yield {"PULSARCTL_SERVICE_URL": broker.service_url, "PULSARCTL_ADMIN_URL": broker.http_url}
        disk.full, disk.sync_seconds = False, 0.0


@pytest.mark.parametrize("lines", [3, 12_000])
def test_a_full_disk_ends_the_run_in_time_with_the_words_of_the_broker(
    tmp_path: Path, environ: dict[str, str], disk: FaultyDisk, lines: int
) -> None:
    (tmp_path / "lines").write_text("x\n" * lines)
    disk.full = True
    with Program(tmp_path, "produce", "t", "--timeout", "1s", "-l", "lines", environ=environ) as producer:
        assert producer.finish(10) == 7
        [error] = producer.stderr.decode().splitlines()
    assert error.startswith("error: cannot produce line 1 of lines to persistent://public/default/t: the broker says: ")
    assert "no space left" in error
    assert error.endswith(" messages were acknowledged; resume at line 1")


def test_ctrl_c_waits_for_the_receipts_of_messages_that_are_on_their_way(
    tmp_path: Path, environ: dict[str, str], disk: FaultyDisk
) -> None:
    disk.sync_seconds = 0.1
    with Program(tmp_path, "produce", "t", environ=environ, stdin=True) as producer:
        producer.write(b"a\nb\nc\n")
        words = ("consume", "t", "-p", "Earliest", "-n", "1", "--timeout", "20s")
        run(tmp_path, *words, environ=environ)
        producer.write(b"d\n" * 2000)
        producer.send(signal.SIGINT)
        assert producer.finish() == 130
        told = producer.stderr.decode().splitlines()[-1]
    ended = run(tmp_path, "topics", "stats", "t", "-o", "json", environ=environ)
    stored = json.loads(ended.stdout)["msgInCounter"]
    sent = re.fullmatch(
        rf"interrupted: {stored} of (\d+) messages were acknowledged; resume at line {stored + 1}", told
    )
    assert sent is not None and int(sent[1]) - stored in (0, 1), told  # the signal may come before the client has it


def test_a_subscription_type_that_the_namespace_disables_is_named(tmp_path: Path, environ: dict[str, str]) -> None:
    run(tmp_path, "namespaces", "set-subscription-types-enabled", "public/default", "-t", "Exclusive", environ=environ)
    refused = run(tmp_path, "consume", "t", "-s", "s", "-t", "Shared", environ=environ)
    assert refused.stderr.splitlines() == [
        "error: cannot subscribe to persistent://public/default/t as 's': the broker does not allow or support it: "
        "Topic[persistent://public/default/t] doesn't support Shared sub type!"
    ]
