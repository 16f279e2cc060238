"""A server of Azure Blob Storage: Azurite, from npm.

It downloads about 180 MB once into a cache directory (`PULSARCTL_TEST_CACHE`, default `~/.cache/pulsarctl-tests`). It
serves accounts without a hierarchical namespace, so it has no Data Lake API (dfs), and pyarrow does without it.
"""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.condition import wait_until

VERSION = "3.35.0"
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="  # known to everyone
FETCH_SECONDS = 150.0  # then the tests are skipped: the suite has a limit of its own
START_SECONDS = 200.0  # on a busy machine
OPTIONS = ("--inMemoryPersistence", "--silent", "--skipApiVersionCheck", "--disableTelemetry")


@contextmanager
def azure_server(container: str) -> Iterator[str]:
    """HOST:PORT of a server with one empty container. Skips the test without Node and npm."""
    program = _azurite()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    where = ("--blobHost", "127.0.0.1", "--blobPort", str(port))
    process = subprocess.Popen(["node", program, *where, *OPTIONS], stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: process.poll() is not None or _answers(port), START_SECONDS)
        assert process.poll() is None, "Azurite ended"
        _create(f"127.0.0.1:{port}", container)
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait(START_SECONDS)


def _azurite() -> Path:
    """A partial download does not count as complete."""
    cache = Path(os.environ.get("PULSARCTL_TEST_CACHE") or Path.home() / ".cache" / "pulsarctl-tests")
    whole = cache / f"azurite-{VERSION}"
    if not whole.is_dir():
        if shutil.which("node") is None or shutil.which("npm") is None:
            pytest.skip("no Node and npm on this machine")
        partial = cache / f"azurite-{VERSION}.{os.getpid()}"
        partial.mkdir(parents=True)
        install = ["npm", "install", "--no-save", "--no-audit", "--no-fund", "--prefix", str(partial)]
        if reason := _failure([*install, f"azurite@{VERSION}"]):
            shutil.rmtree(partial, ignore_errors=True)
            pytest.skip(f"npm could not fetch azurite: {reason}")
        partial.rename(whole)
    return whole / "node_modules" / ".bin" / "azurite-blob"


def _failure(command: list[str]) -> str:
    """Why it failed; empty if it did not."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"not within {FETCH_SECONDS:g} s"
    return done.stderr.strip()[:300] if done.returncode else ""


def _answers(port: int) -> bool:
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0


def _create(address: str, container: str) -> None:
    from pyarrow import fs

    where = {f"{service}_storage_authority": address for service in ("blob", "dfs")}
    where |= {f"{service}_storage_scheme": "http" for service in ("blob", "dfs")}
    fs.AzureFileSystem(ACCOUNT, account_key=KEY, **where).create_dir(container)
