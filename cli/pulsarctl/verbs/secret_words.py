"""A command line without its secrets, for errors, for reports, and for what is kept."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import typer
from typer.core import TyperOption

from pulsarctl.output.redaction import command_line
from pulsarctl.shell.completion import position
from pulsarctl.shell.metavars import is_secret
from pulsarctl.shell.root import application


def redacted(words: Sequence[str]) -> list[str]:
    options = [each for each in position(_root(), words).command.params if isinstance(each, TyperOption)]
    return command_line(words, {name: is_secret(option) for option in options for name in option.opts})


@cache
def _root() -> Any:
    return typer.main.get_command(application())
