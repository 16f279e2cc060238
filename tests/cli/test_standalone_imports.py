"""What an idle broker imports: each feature's modules take memory, and time of the start, in every broker."""

import sys
import urllib.request
from pathlib import Path

from tests.broker_process import BrokerProcess

# Features that are off, or that clients have not used yet.
UNUSED = (
    "bcrypt",
    "broker_core.change_events.follower",
    "broker_core.console.page",
    "broker_core.offload.orders",
    "broker_core.offload.tier_file",
    "broker_core.offload.worker",
    "broker_core.proxy",
    "broker_core.replication.connection",
    "broker_core.replication.replicator",
    "broker_core.security.authentication",
    "broker_core.security.local_authority",
    "cramjam",
    "cryptography",
    "jwt",
    "lz4",
    "msgspec",
    "pyarrow",
    "pyiceberg",
    "rich",
    "yaml",
    "zstandard",
)


def test_a_broker_that_has_answered_a_request_imports_no_unused_feature(tmp_path: Path) -> None:
    program = (sys.executable, "-X", "importtime", "-m", "pulsarctl", "standalone")
    with BrokerProcess(tmp_path / "data", program=program) as process:
        with urllib.request.urlopen(f"{process.http_url}/admin/v2/clusters", timeout=30) as answer:
            assert answer.status == 200
        log = process.log_path.read_text()
    modules = {line.rpartition("|")[2].strip() for line in log.splitlines() if line.startswith("import time:")}
    assert {"broker_core.broker", "broker_core.admin.clusters"} <= modules
    assert not modules & set(UNUSED)
