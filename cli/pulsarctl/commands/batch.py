"""`pulsarctl batch`: many commands in one process."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from pulsarctl.errors import BROKEN_PIPE, CliError, PartialFailure
from pulsarctl.output import render
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.session import Session, split
from pulsarctl.values.text_files import read_text

INTERRUPTED = 130

app = Noun("batch", "Run many commands in one process.")


@app.verb("batch")
def batch(
    call: Call,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File of commands, one per line; - is stdin.")],
    keep_going: Annotated[
        bool, typer.Option("--keep-going", "-k", help="Run the other lines after a line that fails.")
    ] = False,
) -> None:
    r"""Run many commands in one process.

    Each line is a command line, with or without 'pulsarctl'. Quotes and backslashes work as in a shell; variables,
    globs, and pipes do not. Empty lines and comments (#) are skipped. Options of batch, such as --context, apply to
    every line. The process and its connection start only once, so short commands run much
    faster than one by one.

    Stops at the first line that fails, with its exit code. With --keep-going, the exit code is 10 if any line failed.

    Examples:
      pulsarctl batch setup.txt
      pulsarctl topics list public/old -o name | sed 's/.*/topics delete "&"/' | pulsarctl batch - --keep-going
    """
    from pulsarctl.shell.sessions import session

    text = _read(file)
    failed = [number for number, code in _codes(session(call), file, text, keep_going=keep_going) if code]
    if failed:
        numbers = ", ".join(map(str, failed[:10])) + (", ..." if len(failed) > 10 else "")
        raise PartialFailure(f"{len(failed)} of {len(text.splitlines())} lines failed: {numbers}")


def _codes(session: Session, file: Path, text: str, *, keep_going: bool) -> Iterator[tuple[int, int]]:
    """The exit code of each line that is a command. Leaves with that of the first failure, unless `keep_going`."""
    from pulsarctl.shell.secret_words import redacted

    for number, line in enumerate(text.splitlines(), 1):
        place = f"{'stdin' if str(file) == '-' else file}:{number}"
        try:
            words = split(line)
            code = session.run(words) if words else 0
        except CliError as error:
            words, code = line.split(), error.exit_code
            render.notice(f"error: {place}: {error.message}")
            for detail in error.details:
                render.notice(detail)
        if code:
            render.notice(f"error: {place} failed with exit code {code}: {' '.join(redacted(words))}")
        if code and (not keep_going or code in (BROKEN_PIPE, INTERRUPTED)):
            raise typer.Exit(code)
        yield number, code


def _read(file: Path) -> str:
    """The whole file, so that no command reads the lines of the others."""
    if str(file) == "-":
        return render.read_stdin()
    return read_text(file)
