"""The call that a command body gets: its settings, the admin client, and the functions to print.

A body parses its input, calls the typed client, and passes rows to `show`. It never exits and never prints; it raises a
`CliError`.
"""

import gc
import os
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pulsarctl import stop_signals
from pulsarctl.errors import UsageProblem
from pulsarctl.output import render
from pulsarctl.output.next_steps import on_same_cluster
from pulsarctl.output.render import Output, Table
from pulsarctl.settings.settings import Settings, resolve
from pulsarctl.shell.options import repeated
from pulsarctl.values.times import utc

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient


class Call(typer.Context):
    """One invocation of one command. `obj` holds the shared options that were given, by field of `Settings`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not gc.isenabled():  # in the process of `main`, which has imported the command by now
            gc.freeze()
            gc.enable()
            stop_signals.unwind()

    @cached_property
    def settings(self) -> Settings:
        """Resolved once. With `--embedded`, the addresses are those of a broker that runs during this call."""
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
        """Connects on the first call, and closes with the command."""
        from pulsarctl.admin.client import AdminClient

        client = AdminClient(self.settings)
        self.call_on_close(client.close)
        return client

    def wait_at_most(self, seconds: float) -> None:
        """Bounds each request, unless the user has set `--request-timeout`. To be called before the first request."""
        if "request_timeout_seconds" not in self.settings.origins:
            self.settings = replace(self.settings, request_timeout_seconds=seconds)

    @property
    def output(self) -> Output:
        """The requested format; `render.resolve` says what `auto` means."""
        return self.settings.output

    def show(self, value: Any, table: Table | None = None, *, as_map: bool = False) -> None:
        """Prints one result in the requested format; see `render.show`. A request that was not sent has none."""
        if self.settings.dry_run and not value:
            return
        render.show(value, self.output, table=table, as_map=as_map)

    def show_names(self, column: str, values: list[str]) -> None:
        """Prints a list of names. If it is empty, a notice on stderr says so."""
        self.show(values, render.names(column, values))
        if not values:
            self.notice(f"no {column.lower()}")

    def notice(self, text: str, *, quiet: bool | None = None) -> None:
        """Prints one line on stderr, unless `--quiet`."""
        if not (self.settings.quiet if quiet is None else quiet):
            render.notice(text)

    def tell(self, text: str) -> None:
        """A notice on a terminal only, so that scripts stay silent on success."""
        if render.is_watched() and not self.settings.dry_run:
            self.notice(text)

    def notice_time(self, label: str, time_ms: int) -> None:
        """Echoes a time from the command line in UTC, because a wrong one is easy to type."""
        self.notice(f"{label} {utc(time_ms)}")

    def on_same_cluster(self, hint: str) -> str:
        """A command that the answer suggests, with the options that chose the cluster of this call."""
        return on_same_cluster(hint, repeated(self.obj or {}))

    def confirm(self, question: str, *, yes: bool, several: bool = False) -> None:
        """Asks for confirmation before data is lost, with the same rule for all verbs.

        `--yes` and `--dry-run` skip the question. Without a terminal, one named thing is deleted without a question,
        as in pulsar-admin, but `several` things, or those that match a pattern, are not.

        Raises `UsageProblem` if the answer is no.
        """
        if yes or self.settings.dry_run:
            return
        if not render.can_ask():
            if several:
                raise UsageProblem(f"confirmation required: {question}", hint="confirm with --yes")
        elif not render.ask(question):
            raise UsageProblem("canceled")

    def _embedded(self, settings: Settings, directory: Path) -> Settings:
        from pulsarctl.embedded import embedded_broker

        def say(text: str) -> None:
            self.notice(text, quiet=settings.quiet)

        urls = self.with_resource(embedded_broker(directory, settings.lock_timeout_seconds, settings.log_level, say))
        origin = f"--embedded {directory}"
        origins = {**settings.origins, "service_url": origin, "web_url": origin}
        return replace(settings, service_url=urls.service_url, web_url=urls.http_url, origins=origins)
