"""The Java process of a Spark context: PySpark starts it through `spark-submit`, and it ends with the context.

PySpark would keep it for the next context of this process, with the Java options and the log level of this one.
"""

import contextlib
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, TimeoutExpired
from typing import Any

from pulsarctl.errors import CliError
from pulsarctl.output.render import passed_on
from pulsarctl.spark.java_messages import JavaMessages
from pulsarctl.spark.properties import write_properties

END_SECONDS_MAX = 300.0  # a training run writes its archive
VERBOSE = ("debug", "info")

_SUBMIT_ARGUMENTS, _SHELL = "PYSPARK_SUBMIT_ARGS", "pyspark-shell"


@contextmanager
def java_gateway(settings: Mapping[str, str], scratch: Path, log_level: str) -> Iterator[Any]:
    """PySpark's gateway to a JVM with these settings. Raises `CliError` if it does not start.

    PySpark itself would give `spark-submit` every setting as an argument.
    """
    from pyspark import SparkContext

    stderr, write = os.pipe()
    messages = JavaMessages(os.fdopen(stderr, "rb"), _to_stderr, all_of_them=log_level in VERBOSE)
    try:
        master = settings["spark.master"]
        with _submit_arguments(master, write_properties(scratch, settings)):
            gateway = _launched(master, write, messages)
    finally:
        os.close(write)
    is_whole = False
    try:
        yield gateway
        is_whole = True
    finally:
        SparkContext._gateway = SparkContext._jvm = None
        _end(gateway, in_order=is_whole)
        messages.close()


def _launched(master: str, stderr: int, messages: JavaMessages) -> Any:
    from pyspark import java_gateway
    from pyspark.errors import PySparkException

    try:
        return java_gateway.launch_gateway(None, {"stdout": DEVNULL, "stderr": stderr})  # type: ignore[no-untyped-call]  # PySpark has no types here
    except (PySparkException, OSError) as error:
        reason = messages.last_line() or error
        hint = "repeat the command with --log-level info"
        raise CliError(f"Spark did not start on {master}: {reason}", hint=hint) from error


def _end(gateway: Any, *, in_order: bool) -> None:
    """A JVM that ends in order writes its class archive. One that started this process is not ours to end."""
    if gateway.proc is None:
        gateway.close()
        return
    gateway.shutdown()
    try:
        if in_order:
            gateway.proc.stdin.close()
            gateway.proc.wait(END_SECONDS_MAX)
    except TimeoutExpired:
        pass
    finally:
        gateway.proc.kill()
        gateway.proc.communicate()


@contextmanager
def _submit_arguments(master: str, ours: list[str]) -> Iterator[None]:
    """Ours follow those of the environment, so that they win. In this process, only ours count."""
    before = os.environ.get(_SUBMIT_ARGUMENTS)
    theirs = [] if before is None or master.startswith("local") else shlex.split(before)
    options = [word for word in theirs if word != _SHELL]
    os.environ[_SUBMIT_ARGUMENTS] = shlex.join([*options, "--master", master, *ours, _SHELL])
    try:
        yield
    finally:
        os.environ.pop(_SUBMIT_ARGUMENTS)
        if before is not None:
            os.environ[_SUBMIT_ARGUMENTS] = before


def _to_stderr(line: bytes) -> None:
    with contextlib.suppress(ValueError):  # stderr may be closed
        passed_on(line.decode(errors="replace"))
