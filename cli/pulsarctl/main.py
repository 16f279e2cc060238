"""The console script.

`--version` is answered before anything is imported, and a command's module only when it is invoked: start-up
is most of what a short command costs.
"""

import sys

from pulsarctl import __version__, abandoned, render, streams
from pulsarctl.errors import CliError
from pulsarctl.exit_codes import exit_code, flushed


def main() -> None:
    """The console script."""
    streams.open_missing()
    if sys.argv[1:] in (["--version"], ["-v"], ["-V"]):
        sys.exit(_shown_version())
    from pulsarctl.root import application

    try:
        application()()
    except SystemExit as leaving:
        abandoned.leave(leaving.code)
        raise


def _shown_version() -> int:
    try:
        render.line(f"pulsarctl {__version__}")
    except CliError as problem:
        return exit_code(problem, {})
    return flushed(0, {})


if __name__ == "__main__":
    main()
