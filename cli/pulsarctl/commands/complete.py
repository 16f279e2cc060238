"""`pulsarctl complete`: what completes the command line of a shell. The scripts in completions/ call it.

The line comes from stdin, because other users can see the arguments of a process. Each line of the answer is a word,
a tab, and what it means. Exit code 1 means that the word names a file, which the shell completes itself.
"""

import os
from typing import Annotated

import typer

from pulsarctl.errors import CliError
from pulsarctl.output import render
from pulsarctl.shell.call import Call
from pulsarctl.shell.completion import candidates
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.known_names import KnownNames
from pulsarctl.shell.typed_line import for_bash, typed_line, without_program

app = Noun("complete", "Print what completes a command line.")
FILE_NAME = 1


@app.verb("complete")
def complete(
    call: Call,
    bash_breaks: Annotated[
        str | None, typer.Option("--bash", metavar="TEXT", help="Answer for bash, with these COMP_WORDBREAKS.")
    ] = None,
) -> None:
    """Print the words that complete the command line on stdin, and nothing if the broker does not answer."""
    line = typed_line(render.read_stdin().removesuffix("\n"))
    names = KnownNames(call.obj, os.environ)
    try:
        words = candidates(call.find_root().command, without_program(line.words), line.current, names)
    except CliError:  # a shell must not show errors after Tab
        return
    if words is None:
        raise typer.Exit(FILE_NAME)
    if bash_breaks is not None:
        words = for_bash(line, words, bash_breaks)
    for word in words:
        render.line(f"{word.word}\t{word.summary}" if word.summary else word.word)
