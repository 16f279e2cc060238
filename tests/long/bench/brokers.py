"""The brokers under load: ours, which the benchmark starts, and a peer that is already running."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.broker_process import BrokerProcess


@dataclass(frozen=True)
class Broker:
    """The target of a load, and the process whose CPU time counts (None if unknown)."""

    name: str
    url: str
    pid: int | None


def ours(process: BrokerProcess) -> Broker:
    return Broker("pulsarctl", process.service_url, process.pid)


def running(name: str, url: str, pid: int | None = None) -> Broker:
    """A broker that is already running; its process is found by its port on this machine."""
    return Broker(name, url, pid or listener_pid(urlsplit(url).port or 6650))


def listener_pid(port: int) -> int | None:
    """The process that listens on a TCP port of this machine; None if unknown or without `ss`."""
    if not shutil.which("ss"):
        return None
    listing = subprocess.run(["ss", "-Hltnp", f"sport = :{port}"], capture_output=True, text=True).stdout
    _, found, rest = listing.partition("pid=")
    return int(rest.partition(",")[0]) if found else None


def scratch_dir(parent: Path, name: str) -> Path:
    """Absolute path of an empty data directory, without the log of an earlier run."""
    parent = parent.resolve()  # other brokers run in directories of their own
    shutil.rmtree(parent / name, ignore_errors=True)
    (parent / f"{name}.log").unlink(missing_ok=True)
    return parent / name
