"""A Spark session for one command: master and options -> SparkSession, or the one clear error.

On a local master everything stays on this machine: the driver binds to loopback and runs the Python of this
environment. To a cluster this package is shipped; what it needs must be there (docs/spark.md). Settings that the caller
gives win.
"""

import importlib.util
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pulsarctl.errors import CliError
from pulsarctl.spark.java import Java, cache_directory, find_java
from pulsarctl.spark.shipping import write_archive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "16",
}
_LOCAL_DEFAULTS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


@contextmanager
def spark_session(
    name: str, master: str = "local[*]", *, options: Mapping[str, str] | None = None, log_level: str = "error"
) -> Iterator["SparkSession"]:
    """A session that ends with the block. `options` are Spark's own (`spark.executor.memory`, ...).

    Raises `CliError` when PySpark or Java is missing, or when Spark does not start.
    """
    java = require_spark()
    _prepare_environment(master, java)
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    settings = _DEFAULTS | (_LOCAL_DEFAULTS if _is_local(master) else {}) | _logging(log_level) | dict(options or {})
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        session = builder.getOrCreate()
    except (PySparkException, OSError) as error:
        raise CliError(f"Spark did not start on {master}: {error}") from error
    with tempfile.TemporaryDirectory() as shipped:  # executors fetch from it as long as the session lives
        try:
            if not _is_local(master):
                session.sparkContext.addPyFile(str(write_archive(Path(shipped))))
            yield session
        finally:
            session.stop()


def require_spark() -> Java:
    """The Java that Spark will run on. Raises `CliError`, naming the two ways to get what is missing."""
    missing = [name for name in ("pyspark", "pyarrow", "pandas") if importlib.util.find_spec(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise CliError(
            f"this command runs on Spark, and {', '.join(missing)} {verb} not installed",
            hint="run pip install 'pulsarctl[spark]', "
            "or 'pulsarctl[spark,java]' if this machine has no Java 17 or newer",
        )
    return find_java(os.environ, cache_directory(os.environ))


def _prepare_environment(master: str, java: Java) -> None:
    """PySpark starts its Java and its workers from the environment; what it must be, only we know."""
    os.environ["JAVA_HOME"] = str(java.home)
    if _is_local(master):
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def _is_local(master: str) -> bool:
    return master.partition("[")[0] == "local"


def _logging(level: str) -> dict[str, str]:
    file = Path(__file__).with_name("log4j2.properties")
    return {
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={file.as_uri()} -Dpulsarctl.log.level={level}"
    }
