"""A standalone Spark cluster on loopback, from the PySpark wheel: one master, one worker."""

import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from pulsarctl.spark.java import cache_directory, find_java
from tests.cli.spark.processes import MARK

START_SECONDS_MAX = 90.0
END_SECONDS_MAX = 20.0
_STANDALONE = "org.apache.spark.deploy"


@contextmanager
def standalone_cluster(
    directory: Path, port: int, *, cores: int = 1, mark: str = "", home: Path | None = None
) -> Iterator[str]:
    """The master's URL. `port` must be free. `mark` is that of the worker and its executors (`processes`).

    `home` is where Spark is; without it, where it is installed.
    """
    url = f"spark://127.0.0.1:{port}"
    started = partial(_started, directory, home or installed_home(), mark)
    with started("Master", ["--port", str(port), "--webui-port", "0"], "elected leader"):
        own = ["--webui-port", "0", "--cores", str(cores), "--memory", f"{cores}g"]
        own += ["--work-dir", str(directory / "work"), url]
        with started("Worker", own, "Successfully registered with master"):
            yield url


@contextmanager
def _started(directory: Path, home: Path, mark: str, role: str, arguments: list[str], sign: str) -> Iterator[None]:
    """Runs until the end of the block, and starts it once the log shows the sign."""
    environment = os.environ | {
        "JAVA_HOME": str(find_java(os.environ, cache_directory(os.environ)).home),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_LOCAL_DIRS": str(directory / "local"),
        MARK: mark,
    }
    process = subprocess.Popen(
        [home / "bin" / "spark-class", f"{_STANDALONE}.{role.lower()}.{role}", "--host", "127.0.0.1", *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    seen = threading.Event()
    reader = threading.Thread(target=_watch, args=(process, sign, seen), daemon=True)
    reader.start()
    try:
        started = time.monotonic()
        assert seen.wait(START_SECONDS_MAX), f"the {role} did not start in {time.monotonic() - started:.0f} s"
        yield
    finally:
        process.terminate()
        process.wait(END_SECONDS_MAX)
        reader.join(END_SECONDS_MAX)


def _watch(process: "subprocess.Popen[str]", sign: str, seen: threading.Event) -> None:
    """Reads the log to its end, so that the process never waits for a reader."""
    assert process.stderr is not None
    with process.stderr:
        for line in process.stderr:
            if sign in line:
                seen.set()


def quick_home(directory: Path) -> Path:
    """The installed Spark without `pyspark.zip`: what Python imports from a zip, it compiles at every start.

    Spark waits 10 s for a Python worker, which is little on a busy machine.
    """
    home = directory / "spark"
    home.mkdir()
    for part in ("bin", "jars"):
        (home / part).symlink_to(installed_home() / part)
    return home


def installed_home() -> Path:
    import pyspark

    return Path(pyspark.__path__[0])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
