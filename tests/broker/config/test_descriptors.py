"""Connections leave descriptors for the broker's own files."""

import contextlib
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

from broker_core.config import descriptors
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.broker_process import PULSARCTL, BrokerProcess
from tests.support.official_client import connect
from tests.support.raw_client import Closed, RawClient

FILES = 256
LIMITED = ("sh", "-c", f'ulimit -n {FILES}; exec "$0" "$@"', str(PULSARCTL), "standalone")


def _is_refused(client: RawClient) -> bool:
    with contextlib.suppress(ConnectionError, Closed):
        answer = client.next()
        return bool(answer.type == BaseCommand.ERROR and answer.message.message == descriptors.TOO_MANY)  # type: ignore[union-attr]  # an ERROR has a message
    return True


def test_connections_leave_descriptors_for_topics_and_the_admin_api(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", program=LIMITED) as broker, contextlib.ExitStack() as opened:
        client = connect(broker.service_url)
        opened.callback(client.close)
        client.create_producer("persistent://public/default/before").send(b"0")
        for _ in range(FILES):
            one = RawClient(broker.service_url, handshake=False)
            opened.callback(one.close)
        assert _is_refused(one)
        client.create_producer("persistent://public/default/new").send(b"1")
        with urlopen(f"{broker.http_url}/admin/v2/persistent/public/default", timeout=10) as answer:
            assert b"default/new" in answer.read()
        assert "Traceback" not in broker.log_path.read_text()


def test_a_server_process_may_open_as_many_files_as_the_machine_allows() -> None:
    program = (
        "import resource as r; hard = r.getrlimit(r.RLIMIT_NOFILE)[1]; r.setrlimit(r.RLIMIT_NOFILE, (64, hard));"
        "from broker_core.config import descriptors as d;"
        "d.raise_limit(); assert d.limit() in [min(hard, most) for most in d.LIMITS], d.limit()"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_number_of_a_descriptor_tells_how_many_are_in_use() -> None:
    assert not descriptors.are_scarce(descriptors.limit() - 1)  # other files of this program count, too
    program = (
        "from broker_core.config import descriptors as d; d.raise_limit(); most = d.limit();"
        "assert not d.are_scarce(most // 2); assert d.are_scarce(most * 11 // 16);"
        "assert not d.are_scarce(most * 11 // 16, d.ADMIN); assert d.are_scarce(most * 7 // 8, d.ADMIN)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
