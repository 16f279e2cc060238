"""Nouns and verbs, loaded on first use: `pulsarctl tenants list` imports the tenants and no other noun.

A command module has one `app: Noun`. Its verbs are functions whose first parameter is the `Call`. Every verb takes the
shared options (`options.py`) after its own. Only the verb that is invoked becomes a Typer command, because building
eighty of them costs more than the request to the broker.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from inspect import getdoc
from typing import Any, TypeVar

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.main import get_command_from_info

from pulsarctl.errors import BROKEN_PIPE, CliError, UsageProblem
from pulsarctl.output import render
from pulsarctl.settings.settings import warnings
from pulsarctl.shell import options, watching
from pulsarctl.shell.call import Call
from pulsarctl.shell.coercion import without_pydantic
from pulsarctl.shell.headings import Heading
from pulsarctl.shell.listing import POLICIES, Listing
from pulsarctl.shell.metavars import say_plainly, usage
from pulsarctl.shell.nouns import ALIASES, WITH_DRY_RUN

Body = TypeVar("Body", bound=Callable[..., None])
Command = TyperCommand | TyperGroup


class Verb(TyperCommand):
    """A command with the shared options; its context is a `Call`."""

    context_class = Call

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.shared = options.shared(self)
        self.params.extend(self.shared)
        self.help = _keep_lines(self.help or "")
        for parameter in self.params:
            say_plainly(parameter)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        arguments = [
            parameter for parameter in self.params if isinstance(parameter, TyperArgument) and not parameter.hidden
        ]
        return [self.options_metavar or "", *map(usage, arguments)]

    def get_params(self, ctx: Any) -> list[Any]:
        return without_pydantic(super().get_params(ctx))

    def get_help_option(self, ctx: Any) -> Any:
        return help_as_data(super().get_help_option(ctx))

    def invoke(self, ctx: Any) -> Any:
        ctx.obj.update(options.given(ctx.params, self.shared))
        if ctx.obj.get("dry_run"):
            _check_dry_run(ctx.command_path)
        for text in [] if ctx.obj.get("quiet") else warnings(ctx.obj):
            render.notice(text)
        try:
            result = self.run(ctx)
            render.flush()
        except BrokenPipeError as error:  # the reader of our output closed it: neither a failure nor a success
            render.abandon_stdout()
            raise typer.Exit(BROKEN_PIPE) from error
        return result

    def run(self, ctx: Any) -> Any:
        """Calls the body."""
        return super().invoke(ctx)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        super().format_epilog(ctx, formatter)
        noun = ctx.parent.command if ctx.parent else None
        if self.name == POLICIES and isinstance(noun, NounGroup):
            noun.listing.write_policies(formatter)


class Watchable(Verb):
    """A command that `--watch` repeats."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.params.insert(len(self.params) - len(self.shared), options.watch())

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, watching.with_seconds(args))

    def run(self, ctx: Any) -> Any:
        interval = ctx.params.pop("watch")
        if interval is None:
            return super().run(ctx)
        return watching.repeat(ctx, partial(super().run, ctx), interval)


class Noun(typer.Typer):
    """The verbs of one noun.

    A verb with the noun's name is what the noun does without a verb: `pulsarctl doctor` next to `doctor bundle`.
    """

    def __init__(self, name: str, help: str, *parts: "Noun") -> None:
        """Takes over the verbs of `parts`, which are nouns of the same name in other files."""
        super().__init__(name=name, help=help, add_completion=False, rich_markup_mode=None)
        self.noun = name
        self.summary = help
        self.losing: set[str] = set()  # the spellings of verbs that lose data
        self.headings: dict[str, Heading] = {}
        self.exit_code_of: Callable[[Exception], int] | None = None  # prints an error; None: as for every command
        for part in parts:
            self.headings.update(part.headings)
            self.registered_commands.extend(part.registered_commands)
            self.losing |= part.losing

    def verb(
        self,
        name: str,
        *aliases: str,
        heading: Heading | None = None,
        hidden: bool = False,
        loses_data: bool = False,
        watchable: bool = False,
        help: str | None = None,
        **context_settings: Any,
    ) -> Callable[[Body], Body]:
        """Registers a function under `name` and, hidden from help and completion, under its aliases.

        `heading` is where the noun's help lists it. A verb that loses data, such as messages or topics, is never
        suggested for a mistyped word. A verb that is `watchable` only reads, and accepts `--watch`.
        """

        def register(body: Body) -> Body:
            self.losing.update((name, *aliases) if loses_data else ())
            kind = Watchable if watchable else Verb
            if heading is not None:
                self.headings[name] = heading
            for spelling in (name, *aliases):
                unseen = hidden or spelling != name
                settings = context_settings or None
                self.command(spelling, cls=kind, help=help, hidden=unseen, context_settings=settings)(body)
            return body

        return register

    def build(self) -> Command:
        verbs = Verbs(self)
        if list(verbs) == [self.noun]:
            return verbs[self.noun]
        return RunnableNoun(self, verbs) if self.noun in verbs else NounGroup(self, verbs)


class LazyCommands(MutableMapping[str, Command]):
    """Commands by name, each built on first use."""

    def __init__(self, names: list[str], hidden: list[str]) -> None:
        self.visible = names
        self._names = names + hidden
        self._made: dict[str, Command] = {}

    @abstractmethod
    def make(self, name: str) -> Command:
        """Builds the command of that name."""

    @abstractmethod
    def summary(self, name: str) -> str:
        """What a visible command does, without building it."""

    def __getitem__(self, name: str) -> Command:
        if name not in self._made:
            if name not in self._names:
                raise KeyError(name)
            self._made[name] = self.make(name)
        return self._made[name]

    def __setitem__(self, name: str, command: Command) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        self._made.pop(name, None)
        for names in (self._names, self.visible):
            if name in names:
                names.remove(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Verbs(LazyCommands):
    """The verbs of a noun. A summary comes from the declaration of a verb."""

    def __init__(self, noun: Noun) -> None:
        self._infos = {str(info.name): info for info in noun.registered_commands}
        hidden = [name for name, info in self._infos.items() if info.hidden]
        super().__init__([name for name in self._infos if name not in hidden], hidden)

    def make(self, name: str) -> Command:
        made = get_command_from_info(self._infos[name], pretty_exceptions_short=False, rich_markup_mode=None)
        assert isinstance(made, TyperCommand)
        return made

    def summary(self, name: str) -> str:
        info = self._infos[name]
        return (info.help or getdoc(info.callback) or "").partition("\n")[0]


class Modules(LazyCommands):
    """Top-level commands and their modules. A module that cannot be imported fails only its own command."""

    def __init__(self, modules: dict[str, str], summaries: dict[str, str], aliases: dict[str, str]) -> None:
        """`summaries` are those of the visible commands."""
        super().__init__(list(summaries), [name for name in (*modules, *aliases) if name not in summaries])
        self._modules = modules
        self._summaries = summaries
        self._aliases = aliases

    def make(self, name: str) -> Command:
        try:
            app = import_module(self._modules[self._aliases.get(name, name)]).app
        except ModuleNotFoundError as error:
            raise CliError(
                f"cannot run '{name}': the Python module {error.name} is not installed", hint=_install_hint(error.name)
            ) from error
        built = app.build()
        assert isinstance(built, TyperCommand | TyperGroup)
        return built

    def summary(self, name: str) -> str:
        return self._summaries[name]


class Group(TyperGroup):
    """A group whose help goes to stdout and whose suggestions are safe to follow.

    `names` are the visible commands, in the order of the help. `suggested` are the commands for a mistyped word.
    """

    def __init__(self, lazy: LazyCommands, names: Sequence[str], suggested: Sequence[str], **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = lazy  # type: ignore[assignment]  # our own mapping, which the group only reads
        self._names = names
        self._suggested = suggested
        self._summary_of = lazy.summary

    def get_params(self, ctx: Any) -> list[Any]:
        return without_pydantic(super().get_params(ctx))

    def get_help_option(self, ctx: Any) -> Any:
        return help_as_data(super().get_help_option(ctx))

    def summaries(self, beginning: str) -> list[tuple[str, str]]:
        """The commands that begin so, in the order of the help, each with what it does."""
        return [(name, self._summary_of(name)) for name in self._names if name.startswith(beginning)]

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self._names)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        self.suggest_commands = False  # Typer would suggest verbs that lose data
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            raise _unknown(ctx, args[0], self._suggested)
        return super().resolve_command(ctx, args)


class NounGroup(Group):
    def __init__(self, noun: Noun, verbs: Verbs) -> None:
        headed = [name for _, names in Listing(verbs.visible, noun.headings, str).sections for name in names]
        self.listing = Listing(headed or verbs.visible, noun.headings, verbs.summary)
        suggested = [name for name in verbs if name not in noun.losing]
        settings = {"name": noun.noun, "help": noun.summary, "no_args_is_help": True, "rich_markup_mode": None}
        super().__init__(verbs, self.listing.names, suggested, **settings)
        self._exit_code_of = noun.exit_code_of

    def make_context(self, *arguments: Any, **extra: Any) -> Any:
        with self._own_errors():
            return super().make_context(*arguments, **extra)

    def invoke(self, ctx: Any) -> Any:
        with self._own_errors():
            return super().invoke(ctx)

    @contextmanager
    def _own_errors(self) -> Iterator[None]:
        try:
            yield
        except (typer.Exit, typer.Abort):
            raise
        except Exception as problem:
            if self._exit_code_of is None:
                raise
            raise typer.Exit(self._exit_code_of(problem)) from problem

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        self.listing.write(formatter, ctx.command_path)


class RunnableNoun(NounGroup):
    """A noun with a verb of its own name, whose options it takes and which runs if no other verb is named."""

    context_class = Call

    def __init__(self, noun: Noun, verbs: Verbs) -> None:
        self._own = verbs[noun.noun]
        assert isinstance(self._own, Verb)
        del verbs[noun.noun]
        super().__init__(noun, verbs)
        self.no_args_is_help = False
        self.invoke_without_command = True
        self.subcommand_metavar = "[COMMAND]"
        self.help = self._own.help
        self.params = self._own.params
        self.shared = self._own.shared

    def invoke(self, ctx: Any) -> Any:
        """Options before another verb are the shared ones; the verb gets them."""
        if not ctx._protected_args:
            return self._own.invoke(ctx)
        ctx.obj.update(options.given(ctx.params, self.shared))
        return super().invoke(ctx)


def help_as_data(option: Any) -> Any:
    """The `--help` option, printed through `render`."""

    def show(ctx: Any, _option: Any, asked: bool) -> None:
        if asked and not ctx.resilient_parsing:
            render.text(ctx.get_help())
            ctx.exit()

    if option is not None:
        option.callback = show
    return option


def _check_dry_run(path: str) -> None:
    """Raises `UsageProblem` for a command that changes more than requests to the admin API could show."""
    _, _, words = path.partition(" ")
    noun = words.partition(" ")[0]
    if ALIASES.get(noun, noun) not in WITH_DRY_RUN:
        raise UsageProblem(f"cannot show a dry run of '{words}': it does more than send requests to the admin API")


def _unknown(ctx: Any, word: str, known: Iterable[str]) -> UsageProblem:
    similar = " or ".join(f"'{name}'" for name in get_close_matches(word, list(known)))
    meant = f" Did you mean {similar}?" if similar else ""
    return UsageProblem(f"No such command '{word}'.{meant}", hint=f"{ctx.command_path} --help")


def _keep_lines(help: str) -> str:
    """Keeps the lines of examples and of paragraphs with indented lines; refills the others."""
    parts = help.split("\n\n")
    return "\n\n".join(f"\b\n{part}" if "\n  " in part or part.startswith("Example") else part for part in parts)


def _install_hint(module: str | None) -> str | None:
    from pulsarctl.values.extras import extra_with

    extra = extra_with([module or ""])
    return f"pip install 'pulsarctl[{extra}]'" if extra else None
