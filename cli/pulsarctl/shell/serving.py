"""The parts that the commands that serve share: options, their log, and the notice that they are ready."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.output import render
from pulsarctl.values.choice import choice

LogFormat = Annotated[
    str,
    typer.Option(
        "--log-format", metavar="KIND", autocompletion=choice("text", "json"), help="Format of the log: text or json."
    ),
]
LogLevel = Annotated[
    str,
    typer.Option(
        "--log-level",
        metavar="LEVEL",
        autocompletion=choice("debug", "info", "warning", "error"),
        help="Minimum level of the log: debug, info, warning, or error.",
    ),
]
Port = Annotated[
    int | None,
    typer.Option("--port", min=0, max=65535, help="Port of the binary protocol; 0 is any free port. Default: 6650."),
]
Bind = Annotated[
    str | None, typer.Option("--bind", metavar="ADDRESS", help="Address to listen on. Default: 127.0.0.1 and ::1.")
]
AllowUnauthenticated = Annotated[
    bool,
    typer.Option("--allow-unauthenticated", help="Listen on non-loopback addresses even without authentication."),
]
Settings = Annotated[
    list[str] | None, typer.Option("-X", metavar="KEY=VALUE", help="Configuration setting; may be repeated.")
]


def check_print_urls(form: str | None) -> None:
    """The value of --print-urls; raises `UsageProblem`."""
    if form not in (None, "json"):
        raise UsageProblem(f"unknown format '{form}' of --print-urls", hint="use json")


def start_logging(form: str, level: str) -> None:
    """Raises `UsageProblem`."""
    from broker_core import log

    level = {"warn": "warning"}.get(level, level)
    if form not in log.FORMATS or level not in log.LEVELS:
        raise UsageProblem(
            "unknown log format or level",
            hint=f"use --log-format {' or '.join(log.FORMATS)}, --log-level {', '.join(log.LEVELS)}",
        )
    log.start_logging(form, level)


class Announcement:
    """Announces that a server is ready: to people (stderr), scripts (stdout), and supervisors (a file).

    `sentence` is for people, with the names of the addresses in braces.
    """

    def __init__(self, sentence: str, ready_file: Path | None, print_urls: str | None, warnings: Sequence[str]) -> None:
        self._sentence = sentence
        self._ready_file = ready_file
        self._as_json = print_urls == "json"
        self._warnings = warnings

    def say(self, urls: dict[str, str | int]) -> None:
        from broker_core.security.private_files import write_private

        for warning in self._warnings:
            render.notice(f"warning: {warning}")
        for line in self._sentence.split("\n"):  # before the values, whose line breaks are escaped
            render.notice(line.format_map(urls))
        if self._ready_file is not None:
            try:
                write_private(self._ready_file, json.dumps(urls).encode() + b"\n")
            except OSError as error:
                raise CliError(f"cannot write {self._ready_file}: {error.strerror}") from error
        if self._as_json:
            render.line(json.dumps(urls))
            render.flush()

    def retract(self) -> None:
        if self._ready_file is not None:
            self._ready_file.unlink(missing_ok=True)
