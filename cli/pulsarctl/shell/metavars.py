"""The words that stand for values in the help: `TOPIC`, `[TOPIC]...`, `--parallel N`.

Typer would add the names of Python's types (`TOPIC <str>`, `--port <int range>`) and put required arguments in braces.
"""

from typing import Any

from typer.core import TyperArgument, TyperOption

DEFAULT = "Default:"  # an option whose help says its default
NAMING = ("SETTING", "KEY")  # what names the value of an option or argument with NAMED
NAMED = "VALUE"
SECRETS = ("TOKEN", "PASSWORD", "PARAMS", "SECRET", "SECRETS", "SECRET-KEY", "PRIVATE-KEY")


def say_plainly(parameter: Any) -> None:
    """Changes what the help shows of an argument or option: each fact once, and no types."""
    if isinstance(parameter, TyperArgument):
        parameter.display_type_rich = _no_type  # type: ignore[method-assign]  # Typer has no setting for it
    elif isinstance(parameter, TyperOption):
        if takes_value(parameter) and parameter.metavar is None:
            parameter.metavar = "N" if parameter.type_descriptor.annotation in (int, float) else "TEXT"
        if DEFAULT in (parameter.help or ""):
            parameter.show_default = False


def takes_value(option: TyperOption) -> bool:
    return not option.is_flag and not option.count


def is_secret(option: TyperOption) -> bool:
    """Whether the option declares, by its metavar, that its value must not be shown."""
    return takes_value(option) and option.metavar in SECRETS


def usage(argument: TyperArgument) -> str:
    """`TOPIC`, `TOPIC...` for several, and `[TOPIC]` for one that may be left out."""
    name = argument.display_name_raw
    return (name if argument.required else f"[{name}]") + ("" if argument.nargs == 1 else "...")


def _no_type(ctx: Any) -> None:
    return None
