"""Spark for one command: a context that ends with it, and failures as errors of one line."""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from pulsarctl import errors
from pulsarctl.errors import CliError, TimedOut, UsageProblem
from pulsarctl.output.render import Progress
from pulsarctl.shell.call import Call

if TYPE_CHECKING:
    from pyspark import SparkContext

    from pulsarctl.tables.access import Access

Result = TypeVar("Result")
SHORT_JOB_BYTES_MAX = 1 << 30


def start_spark(
    call: Call, verb: str, master: str, settings: Mapping[str, str], progress: Progress, size: int
) -> "SparkContext":
    """`size` is the number of bytes to read. The context ends with the command, after its result is printed."""
    from pulsarctl.spark.session import spark_context

    progress.show(f"starting Spark on {master}")
    context = call.with_resource(
        spark_context(
            f"pulsarctl ops {verb}",
            master,
            options={**({"spark.ui.enabled": "true"} if call.settings.verbose else {}), **settings},
            log_level=call.settings.log_level,
            short=size <= SHORT_JOB_BYTES_MAX,
            traces=call.settings.verbose,
            tell=progress.show,
        )
    )
    _log_errors(verbose=call.settings.verbose)
    if call.settings.verbose and context.uiWebUrl:
        call.notice(f"Spark UI at {context.uiWebUrl}")
    return context


def _log_errors(*, verbose: bool) -> None:
    """PySpark also logs what it raises about a query, with the stack trace of Java."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = not verbose


def access(call: Call) -> "Access":
    """How this command reaches the cluster, for tasks."""
    from pulsarctl.auth.portable import portable
    from pulsarctl.tables.access import Access

    settings = call.settings
    return Access(
        service_url=settings.service_url,
        admin_url=settings.web_url,
        security=portable(settings),
        admin_origin=settings.origins.get("web_url", "the default"),
    )


def explained(action: Callable[[], Result]) -> Result:
    """Runs the action, with a failure in Spark as an error of one line."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        return action()
    except (PySparkException, Py4JError) as error:
        raise _problem(cause(str(error))) from error


def explained_query(action: Callable[[], Result], columns: str) -> Result:
    """The same for a query that may be wrong itself. `columns` is the hint for a column that does not exist."""
    from pyspark.errors import AnalysisException, ParseException

    try:
        return explained(action)
    except CliError as error:
        if not isinstance(error.__cause__, AnalysisException | ParseException):
            raise
        hint = columns if "UNRESOLVED_COLUMN" in str(error.__cause__) else None
        raise UsageProblem(f"cannot run the query: {cause(str(error.__cause__))}", hint=hint) from error.__cause__


def _problem(reason: str) -> CliError:
    """An error that a task raised keeps its kind; its hint does not leave the task."""
    name, _, message = reason.partition(": ")
    kind = getattr(errors, name, None)
    if message and isinstance(kind, type) and issubclass(kind, CliError):
        return kind(message, hint="run the command again" if kind is TimedOut else None)
    return CliError(f"the Spark job failed: {reason}")


def cause(text: str) -> str:
    """The last line of a Python traceback, without the module's name, or the first line of any other text."""
    found = re.findall(r"^(?:[\w.]+\.)?(\w+(?:: .*)?)$", text, re.MULTILINE)
    if "Traceback" in text and found:
        return str(found[-1])
    return text.strip().partition("\n")[0]
