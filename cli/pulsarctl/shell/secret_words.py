"""A command line without its secrets, for errors, for reports, and for what is kept."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import zip_longest
from typing import Any

import typer
from typer.core import TyperOption

from pulsarctl.output.redaction import MASK, command_line, is_secret
from pulsarctl.shell import metavars
from pulsarctl.shell.completion import position
from pulsarctl.shell.root import application


def redacted(words: Sequence[str]) -> list[str]:
    at = position(_root(), words)
    options = [option for option in at.command.params if isinstance(option, TyperOption)]
    naming = [name for option in options if option.metavar in metavars.NAMING for name in option.opts]
    arguments = [at.values.get(metavar, "") for metavar in metavars.NAMING]
    names_a_secret = any(map(is_secret, (*_values(words, naming), *arguments)))
    shown = command_line(
        words,
        {
            name: metavars.is_secret(option) or (names_a_secret and option.metavar == metavars.NAMED)
            for option in options
            for name in option.opts
        },
    )
    value = at.values.get(metavars.NAMED) if names_a_secret else None
    return [MASK if word == value else word for word in shown]


def _values(words: Sequence[str], options: Sequence[str]) -> Iterator[str]:
    """The values of the options: the next words, and those after an equals sign or right after the option."""
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        for option in options:
            if word.startswith(option):
                yield following if word == option else word.removeprefix(option).removeprefix("=")


@cache
def _root() -> Any:
    return typer.main.get_command(application())
