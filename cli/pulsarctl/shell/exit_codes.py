"""Turns errors into exit codes."""

import os
from collections.abc import Sequence
from typing import Any

from pulsarctl.errors import BROKEN_PIPE, CliError, UsageProblem
from pulsarctl.output import render
from pulsarctl.output.next_steps import is_of_use, on_same_cluster


def exit_code(problem: Exception, flags: dict[str, Any], words: Sequence[str] = ()) -> int:
    """Prints an error and returns the exit code. `words` are the command line."""
    failure = problem if isinstance(problem, CliError) else _as_cli_error(problem)
    if failure.hint:
        failure.hint = _hint(failure.hint, flags) if is_of_use(failure.hint, words) else None
    asked = flags.get("output") or os.environ.get("PULSARCTL_OUTPUT")
    render.error(failure, as_object=asked in (render.Output.JSON, render.Output.JSONL))
    return failure.exit_code


def flushed(code: int, flags: dict[str, Any]) -> int:
    """Flushes the output. Returns `code`, or another code if that fails."""
    try:
        render.flush()
    except BrokenPipeError:
        render.abandon_stdout()
        return code or BROKEN_PIPE
    except CliError as problem:
        return exit_code(problem, flags)
    return code


def _hint(hint: str, flags: dict[str, Any]) -> str:
    from pulsarctl.shell.options import repeated  # imports Typer, which `--version` does without

    return on_same_cluster(hint, repeated(flags))


def _as_cli_error(problem: Exception) -> CliError:
    """Usage errors of Typer and errors of the operating system. Any other error is a bug and keeps its traceback."""
    if isinstance(problem, OSError):
        where = f"{problem.filename}: " if problem.filename else ""
        return CliError(f"{where}{problem.strerror or problem}")
    context = getattr(problem, "ctx", None)
    hint = f"{context.command_path} --help" if context else None
    message = getattr(problem, "format_message", problem.__str__)()
    return UsageProblem(" ".join(message.split()), hint=hint)  # Typer lists choices on lines of their own
