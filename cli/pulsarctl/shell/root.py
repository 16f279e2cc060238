"""The root of the command tree: options before the command, help without imports, and the handling of errors."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import typer
from typer.core import TyperOption
from typer.exceptions import TyperException

from pulsarctl import __version__
from pulsarctl.errors import CliError
from pulsarctl.output import colors, render
from pulsarctl.shell import options
from pulsarctl.shell.exit_codes import exit_code, flushed
from pulsarctl.shell.grammar import Group, Modules
from pulsarctl.shell.nouns import ALIASES, COMMANDS, HIDDEN, MODULE_OF


class Root(Group):
    def __init__(self, **settings: Any) -> None:
        context_settings = {"max_content_width": 100, "help_option_names": ["--help", "-h"]}
        modules = {name: f"pulsarctl.commands.{MODULE_OF.get(name, name)}" for name in (*COMMANDS, *HIDDEN)}
        settings |= {"no_args_is_help": True, "context_settings": context_settings}
        super().__init__(Modules(modules, COMMANDS, ALIASES), list(COMMANDS), list(COMMANDS), **settings)
        self.shared = options.shared()
        for option in self.shared:
            if option.name == "web_url":
                option.opts = [*option.opts, "-s"]  # the Go tool's spelling; after a command, -s means other things
            if option.name == "verbose":
                option.opts = ["--verbose"]  # before the command, -v is pulsar-admin's --version
        self.params.extend([*self.shared, _version_option()])

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Uses the table, so that help imports no command."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: Any) -> Any:
        if ctx.params.pop("version", None):
            render.line(f"pulsarctl {__version__}")
            return None
        ctx.obj.update(options.given(ctx.params, self.shared))
        return super().invoke(ctx)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        *,
        shared: Mapping[str, Any] | None = None,
        **extra: Any,
    ) -> Any:
        """Runs one command and exits with its code.

        `given`: shared options of a session that runs several commands, by field of `Settings`.
        """
        flags: dict[str, Any] = dict(shared or {})
        if shared is None:
            colors.choose(colors.Color.AUTO)
        try:
            code = super().main(args, "pulsarctl", complete_var, False, windows_expand_args, obj=flags, **extra)
        except typer.Abort:
            code = CliError.exit_code
        except (CliError, TyperException, OSError) as problem:
            code = _help_or_code(problem, flags, sys.argv[1:] if args is None else args)
        sys.exit(flushed(code if isinstance(code, int) else 0, flags))


def _help_or_code(problem: Exception, flags: dict[str, Any], words: Sequence[str]) -> int:
    if type(problem).__name__ == "NoArgsIsHelpError":
        render.usage(problem.ctx.get_help())  # type: ignore[attr-defined]  # the class is not public
        return 2
    return exit_code(problem, flags, words)


def _version_option() -> TyperOption:
    app = typer.Typer(add_completion=False)

    def version(
        version: bool = typer.Option(
            False, "--version", "-v", "-V", help="Print the version and exit. After a command, -v is --verbose."
        ),
    ) -> None:
        """Declares one option."""

    app.command()(version)
    option = typer.main.get_command(app).params[0]
    assert isinstance(option, TyperOption)
    return option


def application() -> typer.Typer:
    """The Typer app, for `main` and for tests (`typer.testing.CliRunner`)."""
    app = typer.Typer(
        name="pulsarctl",
        cls=Root,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_pulsarctl)
    return app


def _pulsarctl() -> None:
    """Administer and operate Apache Pulsar, or run the bundled broker.

    Exit codes: 0 success, 1 failure, 2 usage error, 3 not found, 4 not authorized, 5 cannot connect, 6 conflict, 7
    timeout, 8 already running, 10 partial failure, 11 doctor found warnings, 12 doctor found problems, 13 diff
    found a difference, 130 interrupted, 141 the reader of stdout has closed the pipe.
    """
