"""A standalone Apache Pulsar from Maven's jars, to compare its answers with those of our broker.

It downloads about 500 MB once into a cache directory (`PULSARCTL_TEST_CACHE`, default `~/.cache/pulsarctl-tests`).
Settings that affect answers are those of a release's standalone.conf. It listens on loopback only.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from tests.support.condition import holds_within
from tests.support.ended_process import end

HERE = Path(__file__).parent
VERSION = "4.0.7"
MILESTONE = "5.0.0-M1"  # the latest of 5.0 that Maven has
POMS = {VERSION: HERE / "pom.xml", MILESTONE: HERE / "pulsar5_pom.xml"}
FETCH_SECONDS = 1200
START_SECONDS = 300
STOP_SECONDS = 30
JAVA_OLDEST = 17

# Packages of the JDK that Pulsar accesses by reflection.
OPENED = (
    "java.base/java.io",
    "java.base/java.nio",
    "java.base/java.util.zip",
    "java.base/java.lang",
    "java.base/sun.net",
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.platform",
    "java.management/sun.management",
    "jdk.management/com.sun.management.internal",
)
JVM_OPTIONS = (
    "-Xmx1g",
    "-XX:MaxDirectMemorySize=1g",
    "-Djava.net.preferIPv4Stack=true",
    *(word for package in OPENED for word in ("--add-opens", f"{package}=ALL-UNNAMED")),
    "-Dio.netty.tryReflectionSetAccessible=true",
)
DRIVERS = "org.apache.pulsar.metadata.bookkeeper"
SETTINGS = {
    "bindAddress": "127.0.0.1",
    "listeningInterface": "lo",
    "clusterName": "standalone",
    "advertisedAddress": "localhost",
    "metadataStoreUrl": "",
    "configurationMetadataStoreUrl": "",
    "systemTopicEnabled": "true",
    "topicLevelPoliciesEnabled": "true",
    "allowAutoTopicCreation": "true",
    "allowAutoTopicCreationType": "non-partitioned",
    "defaultNumberOfNamespaceBundles": "4",
    "backlogQuotaDefaultLimitGB": "-1",
    "backlogQuotaDefaultLimitSecond": "-1",
    "brokerDeleteInactiveTopicsEnabled": "false",  # as in our broker, since `get-inactive-topic-policies -ap` shows it
    "forceDeleteTenantAllowed": "false",
    "forceDeleteNamespaceAllowed": "false",
    "maxUnackedMessagesPerConsumer": "50000",
    "maxUnackedMessagesPerSubscription": "200000",
    "transactionCoordinatorEnabled": "false",
    "enablePackagesManagement": "false",
    "exposePublisherStats": "true",
    "schemaCompatibilityStrategy": "FULL",
    "loadManagerClassName": "org.apache.pulsar.broker.loadbalance.NoopLoadManager",
    "loadBalancerEnabled": "false",
    "authenticationEnabled": "false",
    "authorizationEnabled": "false",
    "managedLedgerDefaultEnsembleSize": "1",
    "managedLedgerDefaultWriteQuorum": "1",
    "managedLedgerDefaultAckQuorum": "1",
    "managedLedgerNewEntriesCheckDelayInMillis": "0",
    "ledgerStorageClass": "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage",
    "nettyMaxFrameSizeBytes": "5253120",
    "diskUsageThreshold": "0.99",
    "diskUsageWarnThreshold": "0.99",
    "allowLoopback": "true",
}


class Missing(Exception):
    """This machine cannot run Apache Pulsar; the text says why."""


class JavaPulsar:
    """`start` returns when the broker answers and has created its default namespace.

    `settings` change SETTINGS. `token` is that of a super-user, for a broker that wants one. `version`: one of POMS.
    """

    def __init__(
        self, directory: Path, settings: Mapping[str, str] | None = None, *, token: str = "", version: str = VERSION
    ) -> None:
        self._version = version
        self._directory = directory.resolve()  # the process has another working directory
        self._settings = {**SETTINGS, **(settings or {})}
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.service_port, self.web_port = free_ports(2)
        self.service_url = f"pulsar://localhost:{self.service_port}"
        self.http_url = f"http://localhost:{self.web_port}"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None, "the broker was not started"
        return self._process.pid

    def start(self) -> None:
        """Raises `Missing`, or `TimeoutError` naming the log."""
        java, folder = java_command(), jars(f"pulsar-{self._version}", POMS[self._version])
        ports = {"brokerServicePort": str(self.service_port), "webServicePort": str(self.web_port)}
        conf = self._directory / "standalone.conf"
        conf.write_text("".join(f"{key}={value}\n" for key, value in (self._settings | ports).items()))
        command = [java, *JVM_OPTIONS]
        command += [f"-Dbookkeeper.metadata.{side}.drivers={DRIVERS}.{kind}" for side, kind in _DRIVER_CLASSES]
        command += ["-cp", f"{folder}/*", "org.apache.pulsar.PulsarStandaloneStarter", "--config", str(conf)]
        command += ["-nfw", "-nss", "-a", "localhost", "--metadata-dir", str(self._directory / "metadata")]
        command += ["--bookkeeper-dir", str(self._directory / "bookkeeper")]
        with (self._directory / "pulsar.log").open("wb") as log:
            self._process = subprocess.Popen(command, cwd=self._directory, stdout=log, stderr=log)
        self._wait_until_ready()

    def stop(self) -> None:
        if self._process is None:
            return
        end(self._process, STOP_SECONDS)

    def _wait_until_ready(self) -> None:
        assert self._process is not None
        process = self._process
        holds_within(lambda: self._is_ready() or process.poll() is not None, START_SECONDS, interval=0.2)
        if not self._is_ready():
            self.stop()
            raise TimeoutError(f"Apache Pulsar did not start; see {self._directory / 'pulsar.log'}")

    def _is_ready(self) -> bool:
        with contextlib.suppress(OSError):
            if b"public/default" in self._read("/admin/v2/namespaces/public"):
                self._read("/admin/v2/brokers/health")
                return True
        return False

    def _read(self, path: str) -> bytes:
        request = urllib.request.Request(f"{self.http_url}{path}", headers=self._headers)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return bytes(answer.read())


_DRIVER_CLASSES = (("bookie", "PulsarMetadataBookieDriver"), ("client", "PulsarMetadataClientDriver"))


def java_command() -> str:
    """Raises `Missing`."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        raise Missing("no Java on this machine")
    shown = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60).stderr
    number = shown.partition('"')[2].partition(".")[0].partition('"')[0]
    if not number.isdecimal() or int(number) < JAVA_OLDEST:
        raise Missing(f"Java {JAVA_OLDEST} or newer is needed, {java} is {number or 'unknown'}")
    return java


def jars(name: str, pom: Path, seconds: float = FETCH_SECONDS) -> Path:
    """The directory with the jars of a POM, downloaded if missing. A partial download does not count as complete."""
    cache = Path(os.environ.get("PULSARCTL_TEST_CACHE") or Path.home() / ".cache" / "pulsarctl-tests")
    whole = cache / name
    if whole.is_dir():
        return whole
    maven = shutil.which("mvn")
    if maven is None:
        raise Missing("no Maven on this machine")
    partial = cache / f"{name}.{os.getpid()}"
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={partial}"]
    command = [maven, "-B", "-q", "-f", str(pom), *goal]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        shutil.rmtree(partial, ignore_errors=True)
        raise Missing(f"Maven could not fetch {name} within {seconds:g} s") from None
    if done.returncode:
        shutil.rmtree(partial, ignore_errors=True)
        raise Missing(f"Maven could not fetch {name}: {done.stdout.strip()[:300]}")
    partial.rename(whole)
    return whole


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports
