"""Words parsed by the real command line, without running the command."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import typer
from typer.core import TyperArgument, TyperGroup

from pulsarctl.shell.root import application
from pulsarctl.values.names import SCALABLE, full_topic, is_namespace, namespace_path, readable_topic


@cache
def root() -> Any:
    return typer.main.get_command(application())


def parse(words: Sequence[str]) -> Any:
    """The context of the command.

    Raises what the command line raises for words and values that it does not take, and `typer.Exit` for `--help`.
    """
    command: Any = root()
    context = command.make_context("pulsarctl", list(words), obj={})
    while isinstance(command, TyperGroup) and (rest := [*context._protected_args, *context.args]):
        name, command, rest = command.resolve_command(context, rest)
        context = command.make_context(name, rest, parent=context)
    return context


def check_names(context: Any) -> None:
    """Raises `UsageProblem` for a TOPIC or a NAMESPACE that cannot be one."""
    checks = {"TOPIC": full_topic, "NAMESPACE": namespace_path}
    for parameter in [each for each in context.command.params if isinstance(each, TyperArgument)]:
        check = checks.get(parameter.metavar or str(parameter.name).upper())
        if check is full_topic and f"{SCALABLE}://" in (parameter.help or ""):
            check = readable_topic
        given = context.params.get(parameter.name)
        if check is not None and given and not context.params.get("regex"):
            for name in given if isinstance(given, list | tuple) else [given]:
                if context.command.name != "tail" or not is_namespace(name):  # which follows namespaces, too
                    check(name)
