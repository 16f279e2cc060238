"""Spark for one command: master and settings -> a context or a session, or one clear error.

On a local master everything stays on this machine: the driver listens on loopback and runs the Python of this
environment. To a cluster, this package is shipped, and its dependencies must be there (docs/how-to/spark.md). Settings
of the caller win, except that Java options are joined.
"""

import importlib.util
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pulsarctl.errors import CliError
from pulsarctl.output.render import notice
from pulsarctl.spark.class_archive import ClassArchive, class_archive
from pulsarctl.spark.gateway import java_gateway
from pulsarctl.spark.java import Java, cache_directory, find_java
from pulsarctl.spark.scratch import scratch_directory
from pulsarctl.spark.shipping import write_archive

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

Tell = Callable[[str], None]

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
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
_SPARK_OF_THE_USER = {"SPARK_HOME", "PYSPARK_GATEWAY_PORT"}  # an installation, or a running `spark-submit`
_SHORT_JOB = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]  # saves short jobs 2 to 6 s, costs long ones a quarter
_TRAINING = "preparing faster starts of Spark, once for this installation (Ctrl-C skips it)"


@contextmanager
def spark_session(
    name: str,
    master: str = "local[*]",
    *,
    options: Mapping[str, str] | None = None,
    log_level: str = "error",
    short: bool = False,
    traces: bool = False,
) -> Iterator["SparkSession"]:
    """A session that ends with the block; see `spark_context`."""
    with spark_context(name, master, options=options, log_level=log_level, short=short, traces=traces) as context:
        from pyspark.sql import SparkSession

        yield SparkSession.builder.config(conf=context.getConf()).getOrCreate()


@contextmanager
def spark_context(
    name: str,
    master: str = "local[*]",
    *,
    options: Mapping[str, str] | None = None,
    log_level: str = "error",
    short: bool = False,
    traces: bool = False,
    tell: Tell = lambda text: None,
) -> Iterator["SparkContext"]:
    """A context that ends with the block. `options` are Spark's own (`spark.executor.memory`, ...).

    `short` tunes the driver for a job of seconds. `traces` makes Spark print the stack traces of failed tasks; without
    it, a failure is only raised. `tell` learns of a wait at the end of the block. Raises `CliError`
    if PySpark or Java is missing, or if Spark does not start.
    """
    java = require_spark()
    _prepare_environment(master, java)
    settings = _settings(name, master, options or {}, log_options(log_level, traces))
    with ExitStack() as end:
        own = is_local(master) and not _SPARK_OF_THE_USER & os.environ.keys()
        archive = _archive(java) if own else None
        if archive is not None:
            end.callback(archive.discard)
        scratch = end.enter_context(scratch_directory())  # executors fetch from it as long as the context lives
        if own:
            settings = _in_directory(settings, scratch, archive, short=short)
        with java_gateway(settings, scratch, log_level) as gateway, _running(settings, gateway, scratch) as context:
            yield context
            trained = archive is None or not archive.is_training or _train(context, tell)
        if archive is not None and trained:
            archive.adopt()


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


def is_local(master: str) -> bool:
    return master.partition("[")[0] == "local"


def _archive(java: Java) -> ClassArchive | None:
    import pyspark

    return class_archive(java, Path(pyspark.__path__[0]) / "jars", cache_directory(os.environ))


def _in_directory(
    settings: Mapping[str, str], scratch: Path, archive: ClassArchive | None, *, short: bool
) -> dict[str, str]:
    """Everything that Spark writes on this machine goes to one directory."""
    java = [
        f"-Djava.io.tmpdir={scratch}",
        "-XX:-UsePerfData",
        *(archive.java_options if archive else ()),
        *(_SHORT_JOB if short else ()),
    ]
    return {
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        "spark.python.daemon.module": "pulsarctl.spark.worker_daemon",
        **settings,
        _JAVA_OPTIONS: " ".join((*java, settings[_JAVA_OPTIONS])),
    }


@contextmanager
def _running(settings: Mapping[str, str], gateway: Any, scratch: Path) -> Iterator["SparkContext"]:
    context = _new_context(settings, gateway)
    try:
        if not is_local(settings["spark.master"]):
            context.addPyFile(str(write_archive(scratch)))
        yield context
    finally:
        context.stop()


def _train(context: "SparkContext", tell: Tell) -> bool:
    """Whether the training run succeeded. The job has its result already, so a failure only costs later jobs time."""
    from pulsarctl.spark.training import exercise

    tell(_TRAINING)
    try:
        exercise(context)
    except Exception as error:  # whatever a query raises
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        notice(f"warning: cannot prepare faster starts of Spark: {reason}")
        return False
    return True


def _new_context(settings: Mapping[str, str], gateway: Any) -> "SparkContext":
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException

    before = signal.getsignal(signal.SIGINT)
    try:
        return SparkContext(conf=SparkConf(loadDefaults=False).setAll(list(settings.items())), gateway=gateway)
    except PySparkException as error:
        raise CliError(f"Spark did not start on {settings['spark.master']}: {error}") from error
    finally:  # PySpark replaces the handler, and ours also closes subscriptions and brokers
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


def _settings(name: str, master: str, options: Mapping[str, str], logging: str) -> dict[str, str]:
    settings = _DEFAULTS | (_LOCAL_DEFAULTS if is_local(master) else {}) | dict(options)
    settings[_JAVA_OPTIONS] = " ".join(filter(None, (logging, options.get(_JAVA_OPTIONS))))
    return settings | {"spark.app.name": name, "spark.master": master}


def _prepare_environment(master: str, java: Java) -> None:
    """PySpark starts its Java and its workers from the environment; what it must be, only we know."""
    os.environ["JAVA_HOME"] = str(java.home)
    if is_local(master):
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def log_options(level: str, traces: bool) -> str:
    file = Path(__file__).with_name("log4j2.properties")
    options = [f"-Dlog4j2.configurationFile={file.as_uri()}", f"-Dpulsarctl.log.level={level}"]
    if traces or level != "error":
        options += ["-Dpulsarctl.log.traces=full", f"-Dpulsarctl.log.tasks={level}"]
    return " ".join(options)
