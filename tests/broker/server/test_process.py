"""What only a dedicated broker process does."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import gc, os, signal, sys
from pathlib import Path
from broker_core.server import collector, process
from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ServerConfig
from broker_core.server.server import Server

server = Server(BrokerConfig(server=ServerConfig(broker_port=0, web_port=0)), Path(sys.argv[1]))
process.run(server, lambda urls: os.kill(os.getpid(), signal.SIGTERM))
print(gc.get_threshold() == collector.THRESHOLD, gc.get_freeze_count() > 0)
"""


def test_a_standalone_tunes_its_garbage_collector(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "data")], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["True", "True"]
