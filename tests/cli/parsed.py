"""Words parsed by the real command line, without running the command."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import typer
from typer.core import TyperGroup

from pulsarctl.shell.root import application


@cache
def root() -> Any:
    return typer.main.get_command(application())


def parse(words: Sequence[str]) -> None:
    """Raises what the command line raises for words and values that it does not take, and `typer.Exit` for `--help`."""
    command: Any = root()
    context = command.make_context("pulsarctl", list(words), obj={})
    while isinstance(command, TyperGroup) and (rest := [*context._protected_args, *context.args]):
        name, command, rest = command.resolve_command(context, rest)
        context = command.make_context(name, rest, parent=context)
