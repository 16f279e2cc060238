"""The console script.

`--version` imports nothing, and a command's module is imported only when the command runs, because start-up takes most
of the time of a short command.
"""

import gc
import sys

from pulsarctl import __version__, stop_signals


def main() -> None:
    """The console script."""
    stop_signals.end_at_once()  # until a command runs (`Call`)
    gc.disable()  # until then, too: what imports make is no garbage
    from pulsarctl.client import abandoned
    from pulsarctl.output import streams

    streams.open_missing()
    if sys.argv[1:] in (["--version"], ["-v"], ["-V"]):
        sys.exit(_shown_version())
    from pulsarctl.shell.root import application

    try:
        application()()
    except SystemExit as leaving:
        stop_signals.end_at_once()
        abandoned.leave(leaving.code)
        raise


def _shown_version() -> int:
    from pulsarctl.errors import CliError
    from pulsarctl.output import render
    from pulsarctl.shell.exit_codes import exit_code, flushed

    try:
        render.line(f"pulsarctl {__version__}")
    except CliError as problem:
        return exit_code(problem, {})
    return flushed(0, {})


if __name__ == "__main__":
    main()
