"""The program: which commands there are, and the one place where an error becomes an exit code.

`--version` is answered before anything is imported, and a command's module only when it is invoked: start-up
is most of what a short command costs.
"""

import os
import sys
from typing import TYPE_CHECKING, Any

from pulsarctl import __version__, abandoned, render, streams
from pulsarctl.errors import BROKEN_PIPE, CliError, UsageProblem

if TYPE_CHECKING:
    import typer

COMMANDS = {
    "standalone": "Run a broker on this machine.",
    "produce": "Publish messages from arguments, files or stdin.",
    "consume": "Subscribe, print and acknowledge messages.",
    "read": "Print messages without a subscription.",
    "topics": "Create, list, inspect, compact and delete topics; their subscriptions and policies.",
    "subscriptions": "List, create, move and delete subscriptions of a topic.",
    "topicPolicies": "Policies of single topics.",
    "schemas": "Show, upload and delete the schemas of topics.",
    "namespaces": "Create, list and delete namespaces; their policies.",
    "tenants": "Create, list and delete tenants.",
    "clusters": "List and show clusters.",
    "brokers": "List brokers and check their health.",
    "context": "Named sets of addresses and credentials, shared with the Go tool.",
    "ops": "Heavy jobs on Spark.",
    "storage": "Look into the files of a data directory.",
    "completion": "Print the completion script of a shell.",
    "version": "Versions of this tool and of the broker.",
}
MODULE_OF = {"topicPolicies": "topic_policies", "context": "contexts", "complete-names": "complete_names"}
HIDDEN = ("complete-names",)  # what the completion scripts call
ALIASES = {
    "topic": "topics",
    "subscription": "subscriptions",
    "subs": "subscriptions",
    "sub": "subscriptions",
    "namespace": "namespaces",
    "tenant": "tenants",
    "properties": "tenants",
    "cluster": "clusters",
    "broker": "brokers",
    "ctx": "context",
    "profile": "context",
}


def main() -> None:
    """The console script."""
    streams.open_missing()
    if sys.argv[1:] in (["--version"], ["-v"], ["-V"]):
        sys.exit(_shown_version())
    try:
        application()()
    except SystemExit as leaving:
        abandoned.leave(leaving.code)
        raise


def application() -> "typer.Typer":
    """The Typer app, for `main` and for tests (`typer.testing.CliRunner`)."""
    import typer

    from pulsarctl.root import Root

    app = typer.Typer(
        name="pulsarctl",
        cls=Root,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_pulsarctl)
    return app


def exit_code(problem: Exception, flags: dict[str, Any]) -> int:
    """Prints what went wrong and returns the code that the process ends with."""
    failure = problem if isinstance(problem, CliError) else _as_cli_error(problem)
    asked = flags.get("output") or os.environ.get("PULSARCTL_OUTPUT")
    render.error(failure, as_object=asked in (render.Output.JSON, render.Output.JSONL))
    return failure.exit_code


def flushed(code: int, flags: dict[str, Any]) -> int:
    """`code`, or another one when what is still buffered cannot be written."""
    try:
        render.flush()
    except BrokenPipeError:
        render.abandon_stdout()
        return code or BROKEN_PIPE
    except CliError as problem:
        return exit_code(problem, flags)
    return code


def _shown_version() -> int:
    try:
        render.line(f"pulsarctl {__version__}")
    except CliError as problem:
        return exit_code(problem, {})
    return flushed(0, {})


def _pulsarctl() -> None:
    """Admin and operations toolkit for Apache Pulsar, with a bundled broker.

    Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 not authorized, 5 cannot connect, 6 conflict, 7
    timeout, 8 already running, 10 partly failed, 130 interrupted.
    """


def _as_cli_error(problem: Exception) -> CliError:
    """Typer's usage errors and what the operating system refused; anything else is our bug and keeps its traceback."""
    if isinstance(problem, OSError):
        where = f"{problem.filename}: " if problem.filename else ""
        return CliError(f"{where}{problem.strerror or problem}")
    context = getattr(problem, "ctx", None)
    hint = f"{context.command_path} --help" if context else None
    return UsageProblem(getattr(problem, "format_message", problem.__str__)(), hint=hint)


if __name__ == "__main__":
    main()
