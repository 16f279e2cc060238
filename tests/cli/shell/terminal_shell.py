"""A real shell at a pseudoterminal, with the completion script of this repository."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

from pulsarctl.commands.completion import SCRIPTS

SHELLS = tuple(SCRIPTS)
SECONDS = 60.0
# Instead of running a completed command, the shell writes its words to a file, each with a NUL after it.
_POSIX = """
pulsarctl() {{
  if [ "$1" = complete ]; then
    command pulsarctl "$@"
  else
    printf '%s\\0' "$@" >'{words}.new'; mv '{words}.new' '{words}'
  fi
}}
"""
_FISH = """
function pulsarctl
    if test "$argv[1]" = complete
        command pulsarctl $argv
    else
        printf '%s\\0' $argv >'{words}.new'; mv '{words}.new' '{words}'
    end
end
function fish_greeting; end
function fish_prompt; echo -n 'ready> '; end
function fish_right_prompt; end
"""
# fish runs only at the terminal that controls its session.
_AT_ITS_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
_START = {
    "bash": ("bash", "--noprofile", "--rcfile", "{rc}", "-i"),
    "zsh": ("zsh", "--no-globalrcs", "-i"),
    "fish": ("fish", "--no-config", "--interactive", "--init-command", "source {rc}"),
}


def is_missing(shell: str) -> bool:
    return shutil.which(shell) is None


class TerminalShell:
    """`home` becomes the home and the directory of the shell. The end of the block kills it."""

    def __init__(self, shell: str, home: Path, environ: Mapping[str, str]) -> None:
        self._words = home / "words"
        rc = home / (".zshrc" if shell == "zsh" else "rc")
        before = {"zsh": "autoload -Uz compinit; compinit -u -D\nPS1='ready> '\n", "bash": "PS1='ready> '\n"}
        double = (_FISH if shell == "fish" else _POSIX).format(words=self._words)
        rc.write_text(before.get(shell, "") + double + SCRIPTS[shell].lstrip("\n"), encoding="utf-8")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PULSAR", "ZDOTDIR"))}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        given = {"HOME": str(home), "ZDOTDIR": str(home), "PATH": path, "TERM": "xterm", "LC_ALL": "C.UTF-8", **environ}
        self._terminal, theirs = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _AT_ITS_TERMINAL, *(word.format(rc=rc) for word in _START[shell])],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**kept, **given},
            cwd=home,
        )
        os.close(theirs)
        self.shown = ""
        self._wait(lambda: "ready> " in self.shown)

    def complete(self, line: str) -> list[str]:
        """The words of the command that the line becomes when Tab and then Enter are pressed."""
        self._words.unlink(missing_ok=True)
        os.write(self._terminal, f"{line}\t\r".encode())
        self._wait(self._words.exists)
        return self._words.read_bytes().decode().split("\0")[:-1]

    def _wait(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < deadline, f"not within {SECONDS} s: {self.shown!r}"
            if select.select([self._terminal], [], [], 0.02)[0]:
                self.shown += os.read(self._terminal, 65536).decode("utf-8", "replace")
                if "\x1b[c" in self.shown[-200:] or "\x1b[0c" in self.shown[-200:]:
                    os.write(self._terminal, b"\x1b[?1;2c")  # fish asks what kind of terminal it is

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._terminal)
