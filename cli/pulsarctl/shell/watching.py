"""`--watch [SECONDS]`: one command, repeated until Ctrl-C.

A terminal shows the last round only, after the time. Elsewhere, the rounds follow each other: YAML as documents of one
stream, and everything else as it is, so that stdout holds only data.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import pairwise, takewhile
from typing import Any

from pulsarctl.errors import CannotConnect, UsageProblem
from pulsarctl.output import render
from pulsarctl.output.render import Output
from pulsarctl.output.screen import Screen
from pulsarctl.shell.call import Call
from pulsarctl.shell.exit_codes import exit_code
from pulsarctl.stop_signals import orderly_end
from pulsarctl.values import clock
from pulsarctl.values.quantities import parse_duration
from pulsarctl.values.times import utc

OPTION = "--watch"
DEFAULT = "2"
LEAST_SECONDS = 0.2
_LIKE_A_NUMBER = re.compile(r"-?\d+(\.\d+)?[a-z]*$")  # an interval, also one that is refused, and no name


def with_seconds(words: Sequence[str]) -> list[str]:
    """The command line with a value for each `--watch`: the next word if it is a duration, or the default."""
    options = list(takewhile(lambda word: word != "--", words))
    joined: list[str] = []
    for before, word in pairwise(["", *options]):
        if word == OPTION:
            joined.append(f"{OPTION}={DEFAULT}")
        elif before == OPTION and _LIKE_A_NUMBER.match(word):
            joined[-1] = f"{OPTION}={word}"
        else:
            joined.append(word)
    return [*joined, *words[len(options) :]]


def repeat(call: Call, run: Callable[[], Any], interval: str) -> None:
    """Runs the command until a signal or an error, other than a lost connection. Raises `UsageProblem`."""
    seconds = parse_duration(interval)
    if seconds < LEAST_SECONDS:
        raise UsageProblem(f"cannot repeat every {interval}: the shortest interval is {LEAST_SECONDS:g}s")
    call.with_resource(orderly_end())
    screen = call.with_resource(Screen()) if Screen.is_there() else None
    while True:
        with nullcontext() if screen is None else screen.redrawn():
            _begin(call.output, screen is not None)
            _run_once(call, run)
            render.flush()
        clock.pause(seconds)


def _begin(output: Output, is_on_screen: bool) -> None:
    if output is Output.YAML:
        render.line("---")
    elif is_on_screen and output in (Output.AUTO, Output.TABLE, Output.TEXT):
        render.line(utc(clock.now_ms()))


def _run_once(call: Call, run: Callable[[], Any]) -> None:
    try:
        run()
    except CannotConnect as problem:  # the broker may come back
        exit_code(problem, call.obj)
