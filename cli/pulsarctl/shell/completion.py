"""The words that may follow on a command line: commands, options, and the values of arguments and options.

The declaration of a parameter says its values: `choice(...)` and enums are lists of words, a metavar such as TOPIC is
a kind of name that the cluster or the context file knows, and one such as FILE is left to the shell. A name is only
data: what a terminal would not print, and what the program would take for an option, is not offered.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from typer.core import TyperArgument, TyperOption

from pulsarctl.errors import CliError
from pulsarctl.shell.grammar import Group
from pulsarctl.shell.metavars import takes_value

KINDS = ("TENANT", "NAMESPACE", "TOPIC", "SCALABLE-TOPIC", "SUBSCRIPTION", "CLUSTER", "BROKER", "CONTEXT")
_FILE = re.compile(r"\b(FILE|DIR|DIRECTORY|PATH|URI)\b")
_LIST = ",..."  # the end of the metavar of a comma-separated list


class Candidate(NamedTuple):
    word: str
    summary: str = ""


@dataclass(slots=True)
class Position:
    """The end of a command line: the command, what it has so far, and the option that takes the next word.

    given   shared options, by field of `Settings`
    values  of the command's own parameters, by metavar
    """

    command: Any
    options: dict[str, Any] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    arguments: int = 0
    expects: TyperOption | None = None
    has_dashes: bool = False  # after --, every word is an argument


Names = Callable[[str, str, Position], Sequence[str]]  # kind, the beginning, and the line -> names


def candidates(root: Any, words: Sequence[str], current: str, names: Names) -> list[Candidate] | None:
    """The words that begin with `current`; None if the word names a file, which the shell completes better."""
    at = position(root, words)
    if at.expects is not None:
        return _values(at.expects, current, names, at)
    if current.startswith("-") and not at.has_dashes:
        option, equals, value = current.partition("=")
        return _after_equals(option, value, names, at) if equals else _option_names(root, at.command, current)
    if isinstance(at.command, Group):
        return [Candidate(*summary) for summary in at.command.summaries(current)]
    argument = _argument(at.command, at.arguments)
    values = [] if argument is None else _values(argument, current, names, at)
    return values and [value for value in values if at.has_dashes or not value.word.startswith("-")]


def position(root: Any, words: Sequence[str]) -> Position:
    """Where a line with these words ends. Raises `CliError` if its command cannot be loaded."""
    at = Position(root)
    for word in words:
        if at.expects is not None:
            _take(at, at.expects, word)
            at.expects = None
        elif word == "--":
            at.has_dashes = True
        elif word.startswith("-") and not at.has_dashes:
            _begin(at, word)
        elif isinstance(at.command, Group) and word in at.command.commands:
            at.command = at.command.commands[word]
        else:
            argument = _argument(at.command, at.arguments)
            at.arguments += 1
            if argument is not None:
                _take(at, argument, word)
    return at


def _begin(at: Position, word: str) -> None:
    """An option, with its value if it has an equals sign."""
    name, separator, value = word.partition("=")
    option = _option(at.command, name)
    if option is None:
        return
    if not takes_value(option):
        _take(at, option, name not in option.secondary_opts)
    elif separator:
        _take(at, option, value)
    else:
        at.expects = option


def _take(at: Position, parameter: Any, value: Any) -> None:
    if parameter in getattr(at.command, "shared", ()):
        at.options[str(parameter.name)] = value
    else:
        at.values[parameter.metavar or ""] = value


def _values(parameter: Any, current: str, names: Names, at: Position) -> list[Candidate] | None:
    metavar = parameter.metavar or ""
    before, comma, beginning = current.rpartition(",") if metavar.endswith(_LIST) else ("", "", current)
    words = [item.value for item in parameter.shell_complete(None, "") if item.type == "plain"]
    if not words and _FILE.search(metavar):
        return None
    if not words:
        words = _named(metavar.removesuffix(_LIST), beginning, names, at)
    return [Candidate(f"{before}{comma}{word}") for word in words if word.startswith(beginning) and word.isprintable()]


def _named(metavar: str, beginning: str, names: Names, at: Position) -> list[str]:
    """A metavar may be TOPIC|NAMESPACE, which a topic's name leads to, or TENANT/NAMESPACE."""
    kind = metavar.partition("|")[0].rpartition("/")[2]
    try:
        return list(names(kind, beginning, at)) if kind in KINDS else []
    except CliError:  # a shell must not show errors after Tab
        return []


def _after_equals(name: str, value: str, names: Names, at: Position) -> list[Candidate] | None:
    option = _option(at.command, name)
    if option is None or not takes_value(option):
        return []
    values = _values(option, value, names, at)
    return values and [Candidate(f"{name}={candidate.word}") for candidate in values]


def _option_names(root: Any, command: Any, current: str) -> list[Candidate]:
    shown = [option for option in command.params if isinstance(option, TyperOption) and _is_shown(option, root)]
    named = ((name, option.help or "") for option in shown for name in (*option.opts, *option.secondary_opts))
    return [Candidate(name, help) for name, help in named if name.startswith(current)]


def _option(command: Any, name: str) -> TyperOption | None:
    options = (option for option in command.params if isinstance(option, TyperOption))
    return next((option for option in options if name in (*option.opts, *option.secondary_opts)), None)


def _is_shown(option: TyperOption, root: Any) -> bool:
    """Options of every command are hidden in the help of each, and shown in that of the root."""
    return not option.hidden or any(option.name == shared.name for shared in root.shared if not shared.hidden)


def _argument(command: Any, index: int) -> TyperArgument | None:
    """The argument that the word number `index` belongs to."""
    arguments = [argument for argument in command.params if isinstance(argument, TyperArgument)]
    if index < len(arguments):
        return arguments[index]
    return arguments[-1] if arguments and arguments[-1].nargs == -1 else None
