"""A `.tar.gz` of documents and texts, without their secrets, readable by its owner only."""

import contextlib
import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

from pulsarctl.errors import CliError, Conflict
from pulsarctl.output.redaction import Redactor
from pulsarctl.values.clock import now_ms

TEXT_CHARACTERS_MAX = 10 << 20  # of one file; the end of a log is what matters


class Archive:
    """Holds everything until `write`, because a later part may name a secret of an earlier one."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._documents: dict[str, Any] = {}
        self._texts: dict[str, str] = {}
        self.redactor = Redactor()

    @property
    def names(self) -> list[str]:
        return sorted([*self._documents, *self._texts])

    def add(self, name: str, value: Any) -> None:
        """A text as it is, or a document as JSON."""
        if isinstance(value, str):
            self._texts[name] = value[-TEXT_CHARACTERS_MAX:]
        else:
            self._documents[name] = value
            self.redactor.learn(value)

    def write(self, path: Path) -> None:
        """Raises `Conflict` if the file exists, or `CliError`."""
        if path.exists():
            raise Conflict(f"cannot write {path}: it exists", hint="name another file")
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as tar:
                self._fill(tar)
            os.link(temporary, path)  # fails if the file was made in the meantime
        except OSError as error:
            raise CliError(f"cannot write {path}: {error.strerror}") from error
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)

    def _fill(self, tar: tarfile.TarFile) -> None:
        redact = self.redactor
        for name, document in self._documents.items():
            shown = json.dumps(redact.document(document), indent=2, ensure_ascii=False, default=str)
            _add(tar, f"{self._root}/{redact.text(name)}", shown + "\n")
        for name, text in self._texts.items():
            _add(tar, f"{self._root}/{redact.text(name)}", redact.text(text))


def _add(tar: tarfile.TarFile, name: str, text: str) -> None:
    data = text.encode("utf-8", "backslashreplace")
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.mtime = len(data), 0o600, now_ms() // 1000
    tar.addfile(entry, io.BytesIO(data))
