"""What the words of a command line inside of `pulsarctl shell` are: what completes one, and which ones are secret."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from typer.core import TyperArgument, TyperGroup, TyperOption

from pulsarctl.output.redaction import is_secret
from pulsarctl.output.render import Output
from pulsarctl.shell.completions import KINDS

Names = Callable[[str, str], Sequence[str]]  # kind and the beginning -> names


def suggestions(root: Any, words: Sequence[str], current: str, names: Names) -> list[str]:
    """Commands, options, formats, and the names that `names` finds. `words` precede `current`."""
    command, positionals, expects = _at(root, words)
    if expects is not None:
        found: Sequence[str] = list(Output) if "--output" in expects.opts else ()
    elif current.startswith("-"):
        found = sorted({each for option in _options(root, command) for each in option.opts if each.startswith("--")})
    elif isinstance(command, TyperGroup):
        found = command.list_commands(None)  # type: ignore[arg-type]  # our groups do not use the context
    else:
        kind = _kind(command, positionals)
        found = names(kind, current) if kind else ()
    return [each for each in found if each.startswith(current)]


def secret_options(root: Any, words: Sequence[str]) -> set[str]:
    """The options of a command line's command whose values are secrets, with their short names."""
    options = [each for each in _at(root, words)[0].params if isinstance(each, TyperOption)]
    return {name for option in options if any(map(is_secret, option.opts)) for name in option.opts}


def _at(root: Any, words: Sequence[str]) -> tuple[Any, int, TyperOption | None]:
    """The command, the number of its arguments so far, and the option that takes the next word."""
    command, positionals, expects = root, 0, None
    for word in words:
        if expects is not None:
            expects = None
        elif word.startswith("-"):
            expects = _taking(root, command, word)
        elif isinstance(command, TyperGroup) and word in command.commands:
            command = command.commands[word]
        else:
            positionals += 1
    return command, positionals, expects


def _taking(root: Any, command: Any, word: str) -> TyperOption | None:
    """The option, if the next word is its value."""
    if "=" in word:
        return None
    found = (option for option in _options(root, command) if word in (*option.opts, *option.secondary_opts))
    option = next(found, None)
    return None if option is None or option.is_flag or option.count else option


def _options(root: Any, command: Any) -> Iterator[TyperOption]:
    for each in (command, root):
        yield from (option for option in each.params if isinstance(option, TyperOption) and _is_shown(option, root))


def _is_shown(option: TyperOption, root: Any) -> bool:
    """Options of every command are hidden in the help of each, and shown in that of the root."""
    return not option.hidden or any(option.name == shared.name for shared in root.shared if not shared.hidden)


def _kind(command: Any, position: int) -> str:
    """TENANT, NAMESPACE, or TOPIC for an argument that takes such names."""
    arguments = [each for each in command.params if isinstance(each, TyperArgument)]
    if not arguments:
        return ""
    metavar = arguments[min(position, len(arguments) - 1)].metavar or ""
    is_there = position < len(arguments) or arguments[-1].nargs == -1
    return metavar if is_there and metavar in KINDS else ""
