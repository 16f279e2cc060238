"""The brokers under load: ours, started for the purpose, and a peer that runs already."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.broker_process import BrokerProcess


@dataclass(frozen=True)
class Broker:
    """Where a load goes, and the process whose CPU time counts (None: not known)."""

    name: str
    url: str
    pid: int | None


def ours(process: BrokerProcess) -> Broker:
    return Broker("pulsarctl", process.service_url, process.pid)


def running(name: str, url: str, pid: int | None = None) -> Broker:
    """A broker that somebody else started; its process is looked up by its port on this machine."""
    return Broker(name, url, pid or listener_pid(urlsplit(url).port or 6650))


def listener_pid(port: int) -> int | None:
    """The process that listens on a TCP port of this machine, or None (also where `ss` is missing)."""
    if not shutil.which("ss"):
        return None
    listing = subprocess.run(["ss", "-Hltnp", f"sport = :{port}"], capture_output=True, text=True).stdout
    _, found, rest = listing.partition("pid=")
    return int(rest.partition(",")[0]) if found else None


def scratch_dir(parent: Path, name: str) -> Path:
    """An empty data directory, and no log of an earlier run beside it."""
    shutil.rmtree(parent / name, ignore_errors=True)
    (parent / f"{name}.log").unlink(missing_ok=True)
    return parent / name
