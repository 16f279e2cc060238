"""`pulsarctl proxy` as a separate process, in front of a broker that runs."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from tests.support.ended_process import end

PULSARCTL = Path(sys.executable).parent / "pulsarctl"
READY_SECONDS = 30.0
STOP_SECONDS = 20.0


class ProxyProcess:
    """`settings` are `key=value` pairs for -X. `log_path` collects the proxy's stderr."""

    def __init__(self, service_url: str, admin_url: str, log_path: Path, *settings: str) -> None:
        self._command = [str(PULSARCTL), "proxy", "--port", "0", "--http-port", "0", "--print-urls", "json"]
        self._command += ["--brokers", service_url, "--brokers-web", admin_url]
        for setting in ("proxyShutdownTimeoutMs=1000", *settings):
            self._command += ["-X", setting]
        self._log_path = log_path
        self.service_url = self.http_url = self.service_url_tls = self.http_url_tls = ""

    def __enter__(self) -> Self:
        with self._log_path.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=log)
        urls = json.loads(self._first_line())
        self.service_url, self.http_url = urls["service_url"], urls["http_url"]
        self.service_url_tls, self.http_url_tls = urls.get("service_url_tls", ""), urls.get("http_url_tls", "")
        return self

    @property
    def pid(self) -> int:
        return self._process.pid

    def _first_line(self) -> bytes:
        assert self._process.stdout is not None
        line, deadline = b"", time.monotonic() + READY_SECONDS
        while not line.endswith(b"\n"):
            left = max(deadline - time.monotonic(), 0)
            ready = select.select([self._process.stdout], [], [], left)[0]
            chunk = os.read(self._process.stdout.fileno(), 4096) if ready else b""
            assert chunk, f"the proxy did not start\n{self._log_path.read_text(errors='replace')[-4000:]}"
            line += chunk
        return line

    def __exit__(self, *_: object) -> None:
        end(self._process, STOP_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()
