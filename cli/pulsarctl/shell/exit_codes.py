"""The one place where an error becomes an exit code."""

import os
from collections.abc import Sequence
from typing import Any

from pulsarctl.errors import BROKEN_PIPE, CliError, UsageProblem
from pulsarctl.output import render
from pulsarctl.output.next_steps import is_of_use


def exit_code(problem: Exception, flags: dict[str, Any], words: Sequence[str] = ()) -> int:
    """Prints what went wrong and returns the code that the process ends with. `words` are the command line."""
    failure = problem if isinstance(problem, CliError) else _as_cli_error(problem)
    if failure.hint and not is_of_use(failure.hint, words):
        failure.hint = None
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


def _as_cli_error(problem: Exception) -> CliError:
    """Typer's usage errors and what the operating system refused; anything else is our bug and keeps its traceback."""
    if isinstance(problem, OSError):
        where = f"{problem.filename}: " if problem.filename else ""
        return CliError(f"{where}{problem.strerror or problem}")
    context = getattr(problem, "ctx", None)
    hint = f"{context.command_path} --help" if context else None
    return UsageProblem(getattr(problem, "format_message", problem.__str__)(), hint=hint)
