"""What a command body is given: its settings, the admin client, and the way to print.

A body is: parse -> typed client -> rows -> `show`. It never exits and never prints; it raises a `CliError`.
"""

import os
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pulsarctl.errors import UsageProblem
from pulsarctl.output import render
from pulsarctl.output.render import Output, Table
from pulsarctl.settings.settings import Settings, resolve
from pulsarctl.values.times import utc

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient


class Call(typer.Context):
    """One invocation of one command. `obj` holds the shared options that were given, by field of `Settings`."""

    @cached_property
    def settings(self) -> Settings:
        """Resolved once; with `--embedded` the addresses are those of a broker that lives as long as this call."""
        settings = resolve(self.obj or {}, os.environ, Path.cwd())
        for text in settings.notices:
            self.notice(text, quiet=settings.quiet)
        if settings.embedded is not None:
            settings = self._embedded(settings, settings.embedded)
        if settings.verbose:
            for name in ("web_url", "service_url"):
                render.notice(f"{name} {getattr(settings, name)} from {settings.origin(name)}")
        return settings

    @cached_property
    def admin(self) -> "AdminClient":
        """Connects at its first call; closed with the command."""
        from pulsarctl.admin.client import AdminClient

        client = AdminClient(self.settings)
        self.call_on_close(client.close)
        return client

    @property
    def output(self) -> Output:
        """What was asked for; `render.resolve` says what `auto` is here."""
        return self.settings.output

    def show(self, value: Any, table: Table | None = None, *, as_map: bool = False) -> None:
        """Prints one result as asked for; see `render.show`."""
        render.show(value, self.output, table=table, as_map=as_map)

    def show_names(self, column: str, values: list[str]) -> None:
        """Prints a list of names; an empty one is said on stderr, since stdout stays empty."""
        self.show(values, render.names(column, values))
        if not values:
            self.notice(f"no {column.lower()}")

    def notice(self, text: str, *, quiet: bool | None = None) -> None:
        """One line on stderr, unless `--quiet`."""
        if not (self.settings.quiet if quiet is None else quiet):
            render.notice(text)

    def tell(self, text: str) -> None:
        """A notice for a person who watches: a script that is silent on success stays silent."""
        if render.is_watched():
            self.notice(text)

    def notice_time(self, what: str, time_ms: int) -> None:
        """Says which instant a time on the command line was taken for: a wrong one is easy to type."""
        self.notice(f"{what} {utc(time_ms)}")

    def confirm(self, question: str, *, yes: bool, several: bool = False) -> None:
        """Asks before something is lost. The one rule of all verbs that lose data:

        `--yes` asks nothing. Without a terminal one thing that was named is lost without a question, as pulsar-admin
        does; `several` things, or things that a pattern finds, are not.

        Raises `UsageProblem` when the answer is no.
        """
        if yes:
            return
        if not render.can_ask():
            if several:
                raise UsageProblem(f"not done without a confirmation: {question}", hint="confirm with --yes")
        elif not render.ask(question):
            raise UsageProblem("not done")

    def _embedded(self, settings: Settings, directory: Path) -> Settings:
        from pulsarctl.embedded import embedded_broker

        def say(text: str) -> None:
            self.notice(text, quiet=settings.quiet)

        urls = self.with_resource(embedded_broker(directory, settings.lock_timeout_seconds, settings.log_level, say))
        origin = f"--embedded {directory}"
        origins = {**settings.origins, "service_url": origin, "web_url": origin}
        return replace(settings, service_url=urls.service_url, web_url=urls.http_url, origins=origins)
