"""A command line without the secrets of its options, for errors and for what is kept."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import typer

from pulsarctl.output.redaction import command_line
from pulsarctl.shell.completion import secret_options
from pulsarctl.shell.root import application


def redacted(words: Sequence[str]) -> list[str]:
    return command_line(words, secret_options(_root(), words))


@cache
def _root() -> Any:
    return typer.main.get_command(application())
