"""The prompt of `shell`: history, completion, and the context in front of the line."""

import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

import typer
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory

from pulsarctl.errors import CliError
from pulsarctl.settings.settings import resolve
from pulsarctl.shell.completion import candidates
from pulsarctl.shell.known_names import KnownNames
from pulsarctl.shell.root import application
from pulsarctl.shell.secret_words import redacted
from pulsarctl.shell.session import PROGRAM, Session
from pulsarctl.shell.typed_line import typed_line

HISTORY = "history"


class Prompt:
    """`environ` says where the history is: XDG_STATE_HOME, or ~/.local/state."""

    def __init__(self, session: Session, environ: Mapping[str, str]) -> None:
        self._session = session
        self._environ = environ
        self._lines: PromptSession[str] = PromptSession(
            history=KeptHistory(str(history_file(environ))),
            completer=_Words(session, environ),
            complete_in_thread=True,
            complete_while_typing=False,
        )

    def line(self) -> str:
        """Raises `EOFError` and `KeyboardInterrupt`."""
        return self._lines.prompt(f"pulsarctl{self._place()}> ")

    def _place(self) -> str:
        """The context that the admin URL comes from, or the URL itself if it comes from elsewhere."""
        try:
            settings = resolve(self._session.options, self._environ, Path.cwd())
        except CliError:  # the next command says why
            return ""
        origin = settings.origin("web_url")
        named = re.search("context '(.*)'", origin)
        if named:
            return f" ({named[1]})"
        return "" if origin == settings.origin("") else f" ({settings.web_url})"


class KeptHistory(FileHistory):
    """Readable by its owner only, and without lines that contain secrets."""

    def store_string(self, string: str) -> None:
        if not has_secret(string):
            super().store_string(string)


def has_secret(line: str) -> bool:
    """Whether an option of the line carries a secret. Then it is not kept, even if its quotes do not match."""
    words = line.split()
    return redacted(words) != words


def history_file(environ: Mapping[str, str]) -> Path:
    """Created if it is missing, with mode 0600."""
    home = Path(environ.get("HOME") or Path.home())
    root = Path(environ.get("XDG_STATE_HOME") or home / ".local" / "state")
    path = root / "pulsarctl" / HISTORY
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError as error:
        raise CliError(f"cannot write the history {path}: {error.strerror}", hint="set XDG_STATE_HOME") from error
    return path


class _Words(Completer):
    """Completes from the commands, and from the broker if it answers."""

    def __init__(self, session: Session, environ: Mapping[str, str]) -> None:
        self._session = session
        self._environ = environ
        self._root = typer.main.get_command(application())

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        line = typed_line(document.text_before_cursor)
        words = line.words[1:] if line.words[:1] == [PROGRAM] else line.words
        names = KnownNames(self._session.options, self._environ)
        try:
            choices = candidates(self._root, words, line.current, names) or ()
        except CliError:
            return
        for choice in choices:
            yield Completion(shlex.quote(choice.word), -len(line.raw), choice.word, display_meta=choice.summary)
