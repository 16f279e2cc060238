"""The image in a namespace, without a container runtime: what Testcontainers' Pulsar modules run and wait for.

docs/how-to/container.md names the sources of the modules.
"""

import runpy
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pulsar
import pytest

from tests.support.condition import wait_until

IMAGE = runpy.run_path(str(Path(__file__).parents[3] / ".ci" / "image.py"))
CONFIGURED = "/pulsar/bin/apply-config-from-env.py /pulsar/conf/standalone.conf && bin/pulsar standalone"
OF_JAVA_AND_GO = ["/bin/bash", "-c", f"{CONFIGURED} --no-functions-worker -nss"]
OF_OLDER_JAVA = ["/pulsar/bin/pulsar", "standalone", "--no-functions-worker", "-nss"]
UNSHARE = ["unshare", "--user", "--map-root-user", "--mount", "true"]


def may_unshare() -> bool:
    return sys.platform == "linux" and subprocess.run(UNSHARE, capture_output=True, check=False).returncode == 0


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not may_unshare(), reason="this machine does not allow user and mount namespaces"),
]


class Container(NamedTuple):
    process: "subprocess.Popen[bytes]"
    url: str
    web: str
    log: Path

    def body(self, path: str) -> bytes:
        """The body of an answer with status 200, or nothing."""
        try:
            with urllib.request.urlopen(self.web + path, timeout=10) as answer:
                return bytes(answer.read())
        except OSError:
            assert self.process.poll() is None, self.log.read_text()
            return b""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("image") / "root"
    IMAGE["build"](directory)
    return directory


@contextmanager
def container(root: Path, directory: Path, command: list[str], configured: dict[str, str]) -> Iterator[Container]:
    """Starts the command on free ports."""
    (directory / "data").mkdir(mode=0o700)
    shutil.copytree(root / "pulsar" / "conf", directory / "conf")
    ports = {"PULSAR_PREFIX_brokerServicePort": free_port(), "PULSAR_PREFIX_webServicePort": free_port()}
    environment = {name: str(port) for name, port in ports.items()} | configured
    if command is OF_OLDER_JAVA:  # it applies no variables
        lines = "".join(f"{name.removeprefix('PULSAR_PREFIX_')}={value}\n" for name, value in environment.items())
        conf = directory / "conf" / "standalone.conf"
        conf.write_text(conf.read_text() + lines)
    started = IMAGE["start"](root, directory / "data", directory / "conf", command, environment)
    log = directory / "log"
    with log.open("wb") as output, subprocess.Popen(started, stdout=output, stderr=output) as process:
        broker, web = ports.values()
        try:
            yield Container(process, f"pulsar://127.0.0.1:{broker}", f"http://127.0.0.1:{web}", log)
        finally:
            process.terminate()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_the_modules_for_java_and_go_see_the_cluster_and_the_log_line_that_they_wait_for(
    root: Path, tmp_path: Path
) -> None:
    with container(root, tmp_path, OF_JAVA_AND_GO, {}) as started:
        wait_until(lambda: started.body("/admin/v2/clusters") == b'["standalone"]', 60)
        assert "Successfully updated the policies on namespace public/default" in started.log.read_text()
        send_and_receive(started.url)


def test_the_module_for_java_waits_for_the_cluster_that_its_variable_names(root: Path, tmp_path: Path) -> None:
    with container(root, tmp_path, OF_JAVA_AND_GO, {"PULSAR_PREFIX_clusterName": "east"}) as started:
        wait_until(lambda: started.body("/admin/v2/clusters") == b'["east"]', 60)


def test_the_older_module_for_java_sees_metrics(root: Path, tmp_path: Path) -> None:
    with container(root, tmp_path, OF_OLDER_JAVA, {}) as started:
        wait_until(lambda: started.body("/metrics") != b"", 60)


def test_the_image_stops_cleanly_on_sigterm_and_writes_only_to_its_volume(root: Path, tmp_path: Path) -> None:
    before = files(root)
    with container(root, tmp_path, OF_JAVA_AND_GO, {}) as started:
        wait_until(lambda: started.body("/admin/v2/clusters") != b"", 60)
        started.process.terminate()
        assert started.process.wait(60) == 0
    assert files(root) == before
    assert files(tmp_path / "data")


def test_the_image_has_the_variables_of_the_containerfile(root: Path, tmp_path: Path) -> None:
    shown = run(root, tmp_path, ["/bin/env"]).stdout.splitlines()
    containerfile = (Path(__file__).parents[3] / "image" / "Containerfile").read_text()
    [line] = [line for line in containerfile.splitlines() if line.startswith("ENV ")]
    assert set(line.split()[1:]) <= set(shown)


def test_the_image_runs_as_its_user_on_a_read_only_root(root: Path, tmp_path: Path) -> None:
    said = run(root, tmp_path, ["/bin/bash", "-c", "echo $UID; : > /pulsar/new"])
    assert said.stdout == "10000\n"
    assert "Read-only file system" in said.stderr


def test_the_image_has_no_compiler_and_no_installer(root: Path) -> None:
    assert not {"cc", "gcc", "pip", "apt-get"} & {path.name for path in root.rglob("*") if path.parent.name == "bin"}


def run(root: Path, directory: Path, command: list[str]) -> "subprocess.CompletedProcess[str]":
    for name in ("data", "conf"):
        (directory / name).mkdir()
    started = IMAGE["start"](root, directory / "data", directory / "conf", command, {})
    return subprocess.run(started, capture_output=True, text=True, check=False, timeout=60)


def files(directory: Path) -> dict[Path, Any]:
    return {path: path.stat().st_mtime_ns for path in directory.rglob("*") if path.is_file() and not path.is_symlink()}


def send_and_receive(url: str) -> None:
    client = pulsar.Client(url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    consumer = client.subscribe("greetings", "s")
    client.create_producer("greetings").send(b"hello")
    assert consumer.receive(timeout_millis=30_000).data() == b"hello"
    client.close()
