"""Many command lines in one process: the modules, and the connection to the admin API, stay.

A line is split as a shell splits it, without variables, globs, or pipes: quotes and backslashes keep spaces, and `#`
at the beginning of a word begins a comment.
"""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pulsarctl.errors import UsageProblem

NESTED = ("shell", "batch")  # would take the lines of the session that runs them
PROGRAM = "pulsarctl"
_PIECE = r"""\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^ \t\r\n'"\\"""  # of a word, open to one more character
_WORD_OR_COMMENT = re.compile(rf"((?:{_PIECE}#])(?:{_PIECE}])*)|#[^\n]*", re.DOTALL)

Main = Callable[[Sequence[str], Mapping[str, Any]], int]  # runs one command line; returns its exit code


class Session:
    """`given`: options of every line, by field of `Settings`. A line may override them."""

    def __init__(self, main: Main, options: Mapping[str, Any]) -> None:
        self._main = main
        self.options = dict(options)

    def run(self, words: Sequence[str]) -> int:
        """The exit code. Raises `UsageProblem` for a command that would run another session."""
        if words[0] in NESTED:
            raise UsageProblem(f"cannot run '{words[0]}' inside another session")
        code = self._main(words, self.options)
        if code == 0 and list(words[:2]) in (["context", verb] for verb in ("use", "select", "switch", "create")):
            self.options.pop("context", None)  # the selected one counts from now on, not that of the start
        return code


def split(line: str) -> list[str]:
    """The words, without the name of the program. Raises `UsageProblem`."""
    try:
        words = shlex.split(_without_comment(line))
    except ValueError as error:
        raise UsageProblem(
            f"cannot split the line: {str(error).lower()}", hint="close each quote, or use \\' and \\\""
        ) from error
    return words[1:] if words[:1] == [PROGRAM] else words


def _without_comment(line: str) -> str:
    """`shlex` would also end a word at a `#` inside of it, and the line would name something else."""
    return _WORD_OR_COMMENT.sub(lambda match: match[1] or "", line)
