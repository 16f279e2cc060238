"""Two processes that send the same messages to the same topic at the same time."""

import os
import subprocess
from pathlib import Path

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.cli.transfer.moved_topics import command, failed, ops
from tests.clients.publishing import publish
from tests.support.condition import wait_until

SLOWLY = ("--rate", "5")


@pytest.mark.parametrize("verb", ["import", "replay"])
def test_a_run_is_refused_while_another_one_sends_the_same(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, tmp_path: Path, verb: str
) -> None:
    publish(client, topic, *range(300))
    ops(pulsar_broker, "export", topic, tmp_path)
    words = (verb, {"import": tmp_path, "replay": topic}[verb], f"{topic}-2", *SLOWLY)
    progress = Path(os.environ["XDG_STATE_HOME"]) / "pulsarctl" / verb
    with subprocess.Popen(command(pulsar_broker, *words)) as first:
        try:
            wait_until(lambda: any(progress.glob("*.json")), 60)
            code, text = failed(pulsar_broker, *words)
            assert (code, "another process is doing the same" in text, first.poll()) == (6, True, None)
        finally:
            first.kill()


@pytest.mark.parametrize("verb", ["import", "replay"])
def test_a_run_after_another_one_is_not_refused(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, tmp_path: Path, verb: str
) -> None:
    publish(client, topic, *range(3))
    ops(pulsar_broker, "export", topic, tmp_path)
    words = (verb, {"import": tmp_path, "replay": topic}[verb], f"{topic}-2", "--again")
    assert [ops(pulsar_broker, *words)["sent"] for _ in range(2)] == [3, 3]
