"""What an idle broker imports: each feature's modules take memory, and time of the start, in every broker."""

import subprocess
import sys
import urllib.request
from pathlib import Path

from tests.support.broker_process import BrokerProcess
from tests.support.official_client import connect

PROGRAM = (sys.executable, "-X", "importtime", "-m", "pulsarctl", "standalone")

# Features that are off, or that clients have not used yet.
UNUSED = (
    "bcrypt",
    "broker_core.topics.change_events",
    "broker_core.compaction.given_places",
    "broker_core.console.page",
    "broker_core.topics.nonpersistent",
    "broker_core.offload.orders",
    "broker_core.offload.tier_file",
    "broker_core.offload.worker",
    "broker_core.proxy",
    "broker_core.replication.connection",
    "broker_core.replication.replicator",
    "broker_core.metadata.schema.avro",
    "broker_core.metadata.schema.compatibility",
    "broker_core.metadata.schema.validation",
    "broker_core.security.authentication",
    "broker_core.security.certificates",
    "broker_core.security.local_authority",
    "broker_core.topic.backlog_scan",
    "broker_core.transactions",
    "broker_core.wire.batch",
    "broker_core.wire.last_places",
    "cramjam",
    "cryptography",
    "google.protobuf.descriptor_pb2",
    "jwt",
    "lz4",
    "msgspec",
    "pyarrow",
    "pyiceberg",
    "rich",
    "yaml",
    "zstandard",
)
# What the broker uses once clients can connect, or once the admin API has one.
LATER = ("aiohttp", "broker_core.admin", "broker_core.server.idle_work", "broker_core.stats", "ctypes")


def test_a_broker_that_has_answered_a_request_imports_no_unused_feature(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", program=PROGRAM) as process:
        with urllib.request.urlopen(f"{process.http_url}/admin/v2/clusters", timeout=30) as answer:
            assert answer.status == 200
        modules = imported(process)
    assert {"aiohttp.web_app", "broker_core.broker", "broker_core.admin.clusters"} <= modules
    assert not modules & set(UNUSED)


def test_a_broker_of_messages_alone_imports_no_admin_api(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", program=PROGRAM) as process:
        client = connect(process.service_url)
        client.create_producer("messages").send(b"one")
        client.close()
        modules = imported(process)
    assert "broker_core.publishing.producer" in modules
    unused = ("aiohttp", "broker_core.admin", "broker_core.transactions")
    assert not {name for name in modules if name.startswith(unused)}


def imported(process: BrokerProcess) -> set[str]:
    log = process.log_path.read_text()
    return {line.rpartition("|")[2].strip() for line in log.splitlines() if line.startswith("import time:")}


def test_the_first_client_does_not_wait_for_what_the_broker_uses_later() -> None:
    script = "import sys, broker_core.server.server, broker_core.server.process; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    modules = set(done.stdout.split())
    assert "broker_core.server.connection" in modules
    assert not modules & {*UNUSED, *LATER}
