"""The Java process of Spark on a local master: started without `spark-submit`, and ended without `stop()`.

Compared with PySpark's own way, this leaves out two shells. It keeps `pyspark.zip` off the workers' path, because
Python compiles whatever it imports from a zip, at every start. It also leaves out the second that `stop()` waits for a
thread. Everything that Spark writes is in one directory of ours, so killing the JVM leaves nothing behind. The JVM runs
in its own process group, out of reach of Ctrl-C, and ends when this process does, because its stdin closes.
"""

import contextlib
import logging
import os
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pulsarctl.errors import CliError, TimedOut
from pulsarctl.output.render import passed_on
from pulsarctl.spark.java import Java
from pulsarctl.spark.java_messages import JavaMessages
from pulsarctl.spark.properties import write_properties

if TYPE_CHECKING:
    from pyspark import SparkContext

START_SECONDS_MAX = 120.0
LAUNCHER_SECONDS_MAX = 60.0
END_SECONDS_MAX = 10.0
POLL_SECONDS = 0.01
VERBOSE = ("debug", "info")

_SUBMIT = "org.apache.spark.deploy.SparkSubmit"
_PY4J_LOGGERS = ("", "py4j.clientserver", "py4j.java_gateway")
_UNWANTED = "--add-modules=jdk.incubator.vector"  # the JVM warns about it; only linear algebra uses it


class Driver:
    """A running JVM. `port` and `secret` are those of its gateway."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int, secret: str) -> None:
        self._process = process
        self._port = port
        self._secret = secret

    def connect(self) -> Any:
        """PySpark's gateway to this JVM."""
        from pyspark import java_gateway

        os.environ["PYSPARK_GATEWAY_PORT"] = str(self._port)
        os.environ["PYSPARK_GATEWAY_SECRET"] = self._secret
        try:
            return java_gateway.launch_gateway()  # type: ignore[no-untyped-call]  # PySpark's own
        finally:
            del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]

    def finish(self, seconds_max: float) -> None:
        """Lets the JVM end in order, so that it writes what it has to. It is killed after the time."""
        assert self._process.stdin is not None, "started with a pipe"
        self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds_max)


@contextmanager
def local_driver(
    java: Java, settings: Mapping[str, str], java_options: list[str], scratch: Path, log_level: str
) -> Iterator[Driver]:
    """A JVM for one Spark context; killed at the end of the block. Raises `CliError` if it does not start."""
    command = _command(java, settings, scratch)
    command[1:1] = [*java_options, f"-Djava.io.tmpdir={scratch}", "-XX:-UsePerfData"]
    connection = scratch / "gateway"
    environment = {**os.environ, "_PYSPARK_DRIVER_CONN_INFO_PATH": str(connection), "SPARK_CONNECT_MODE": "0"}
    environment.pop("SPARK_HOME", None)  # with it, workers import from pyspark.zip
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )
    assert process.stdin is not None, "started with a pipe"
    assert process.stderr is not None, "started with a pipe"
    messages = JavaMessages(process.stderr, _to_stderr, all_of_them=log_level in VERBOSE)
    try:
        yield Driver(process, *_gateway(process, connection, messages))
    finally:
        process.kill()
        process.wait(END_SECONDS_MAX)
        messages.close()
        with contextlib.suppress(OSError):
            process.stdin.close()


@contextmanager
def quiet_py4j() -> Iterator[None]:
    """py4j also logs what it raises: each call that Ctrl-C or the end of the JVM interrupts."""
    loggers = [logging.getLogger(name) for name in _PY4J_LOGGERS]

    def hidden(record: logging.LogRecord) -> bool:
        return "py4j" not in Path(record.pathname).parts

    for logger in loggers:
        logger.addFilter(hidden)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(hidden)


def forget(context: "SparkContext") -> None:
    """Makes PySpark forget a context whose JVM is about to be killed, so that this process can start another one."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    server = context._accumulatorServer
    vars(server)["handle_error"] = lambda *_: None  # its thread reports the lost connection as an error otherwise
    server.server_shutdown = True
    if SparkContext._gateway is not None:  # py4j releases Java objects whenever Python's are collected
        SparkContext._gateway._gateway_client.is_connected = False
    context._jsc = None
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def _command(java: Java, settings: Mapping[str, str], scratch: Path) -> list[str]:
    """The command line that Spark's own launcher makes of the settings (class path, memory, module options)."""
    home = spark_home()
    launcher = [
        str(java.home / "bin" / "java"),
        "-Xmx128m",
        "-Xshare:auto",
        "-XX:-UsePerfData",
        "-cp",
        f"{home}/jars/*",
    ]
    configuration = write_properties(scratch, settings)
    try:
        answer = subprocess.run(
            [*launcher, "org.apache.spark.launcher.Main", _SUBMIT, *configuration, "pyspark-shell"],
            env={**os.environ, "SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "any"},  # else it looks for a build
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LAUNCHER_SECONDS_MAX,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise CliError(f"Spark did not start: {_reason(error)}", hint=f"check the Java in {java.home}") from error
    return [part for part in answer.stdout.strip("\n\0").split("\0") if part and part != _UNWANTED]


def _reason(error: Exception) -> str:
    text = getattr(error, "stderr", None) or str(error)
    return str(text).strip().splitlines()[-1]


def _to_stderr(line: bytes) -> None:
    with contextlib.suppress(ValueError):  # stderr may be closed
        passed_on(line.decode(errors="replace"))


def spark_home() -> Path:
    """The directory of the installed PySpark, which contains Spark's jars."""
    import pyspark

    return Path(pyspark.__path__[0])


def _gateway(process: "subprocess.Popen[bytes]", connection: Path, messages: JavaMessages) -> tuple[int, str]:
    """Port and secret from the file that the JVM writes and then renames."""
    deadline = time.monotonic() + START_SECONDS_MAX
    while not connection.exists():
        if process.poll() is not None:
            reason = messages.last_line() or f"Java ended with exit code {process.returncode}"
            raise CliError(f"Spark did not start: {reason}", hint="repeat the command with --log-level info")
        if time.monotonic() > deadline:
            raise TimedOut(f"Spark did not start: Java gave no answer within {START_SECONDS_MAX:g} s")
        time.sleep(POLL_SECONDS)
    content = connection.read_bytes()
    port, length = struct.unpack_from(">ii", content)
    return port, content[8 : 8 + length].decode()
