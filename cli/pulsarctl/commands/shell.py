"""`pulsarctl shell`: commands at a prompt."""

import os

import typer

from pulsarctl.errors import CliError
from pulsarctl.output import render
from pulsarctl.shell.call import Call
from pulsarctl.shell.exit_codes import exit_code
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.session import Session, split

LEAVE = (["exit"], ["quit"])

app = Noun("shell", "Run commands at a prompt with history and completion.")


@app.verb("shell")
def shell(call: Call) -> None:
    """Run commands at a prompt with history and completion.

    Commands have no 'pulsarctl' in front, and quotes and backslashes work as in a shell. Tab completes commands,
    options, their values, and names. The prompt shows the context, which 'context use NAME' changes. A command that
    fails does not end the shell; exit, quit, or Ctrl-D does. Lines with secrets are not kept in the history.

    Without a terminal, the shell runs the lines of stdin, and its exit code is that of the last one.

    Example: pulsarctl shell --context prod
    """
    from pulsarctl.shell.sessions import session

    lines = session(call)
    code = _at_a_prompt(lines) if render.can_draw() else _from_stdin(lines)
    raise typer.Exit(code)


def _at_a_prompt(session: Session) -> int:
    from pulsarctl.shell.prompt import Prompt

    prompt = Prompt(session, os.environ)
    render.line("Type a command, such as 'topics list public/default', 'help', or 'exit'.")
    render.flush()
    while True:
        try:
            line = prompt.line()
        except KeyboardInterrupt:  # discards what was typed
            continue
        except EOFError:
            return 0
        if _words(line) in LEAVE:
            return 0
        _run(session, line)


def _from_stdin(session: Session) -> int:
    code = 0
    for line in render.read_stdin().splitlines():
        if _words(line) in LEAVE:
            return code
        code = _run(session, line, code)
    return code


def _run(session: Session, line: str, code: int = 0) -> int:
    """The exit code of the line, or `code` for an empty one."""
    try:
        words = split(line)
        if words[:1] == ["help"]:
            words = [*words[1:], "--help"]
        return session.run(words) if words else code
    except CliError as error:
        return exit_code(error, session.options)


def _words(line: str) -> list[str]:
    return line.split("#")[0].split()
