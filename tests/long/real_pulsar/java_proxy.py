"""The proxy of Apache Pulsar, to compare its cost with that of `pulsarctl proxy`.

Maven Central has no newer release of it as a jar. It works in front of newer brokers.
"""

from __future__ import annotations

import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Self

from tests.long.real_pulsar.java_pulsar import (
    HERE,
    JVM_OPTIONS,
    START_SECONDS,
    STOP_SECONDS,
    free_ports,
    jars,
    java_command,
)
from tests.support.condition import holds_within
from tests.support.ended_process import end

VERSION = "3.0.0"
LOG = """\
<Configuration>
  <Appenders><Console name="Console"/></Appenders>
  <Loggers><Root level="warn"><AppenderRef ref="Console"/></Root></Loggers>
</Configuration>
"""


class JavaProxy:
    """In front of a broker that runs. Entering it raises `Missing`, or `TimeoutError` naming the log."""

    def __init__(self, directory: Path, service_url: str, http_url: str) -> None:
        binary, web = free_ports(2)
        self.service_url, self.http_url = f"pulsar://localhost:{binary}", f"http://localhost:{web}"
        self._log = directory / "proxy.log"
        self._files = {"proxy.conf": directory / "proxy.conf", "log4j2.xml": directory / "log4j2.xml"}
        settings = {
            "brokerServiceURL": service_url,
            "brokerWebServiceURL": http_url,
            "brokerProxyAllowedTargetPorts": "*",
            "servicePort": str(binary),
            "webServicePort": str(web),
            "bindAddress": "127.0.0.1",
        }
        directory.mkdir(parents=True, exist_ok=True)
        self._files["proxy.conf"].write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        self._files["log4j2.xml"].write_text(LOG)

    @property
    def pid(self) -> int:
        return self._process.pid

    def __enter__(self) -> Self:
        folder = jars(f"pulsar-proxy-{VERSION}", HERE / "proxy_pom.xml")
        command = [java_command(), *JVM_OPTIONS]
        command += [f"-Dlog4j.configurationFile={self._files['log4j2.xml']}", "-cp", f"{folder}/*"]
        command += ["org.apache.pulsar.proxy.server.ProxyServiceStarter", "-c", str(self._files["proxy.conf"])]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        if not holds_within(lambda: self._is_ready() or self._process.poll() is not None, START_SECONDS, interval=0.2):
            self._process.kill()
        if not self._is_ready():
            self.__exit__()
            raise TimeoutError(f"the proxy of Apache Pulsar did not start; see {self._log}")
        return self

    def __exit__(self, *_: object) -> None:
        end(self._process, STOP_SECONDS)

    def _is_ready(self) -> bool:
        """Whether it answers, with whatever status."""
        try:
            urllib.request.urlopen(f"{self.http_url}/metrics", timeout=10).close()
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True
