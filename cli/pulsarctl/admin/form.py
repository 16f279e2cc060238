"""Bodies of several parts (multipart/form-data), which functions, connectors, and packages are uploaded with."""

import json
import secrets
from pathlib import Path
from typing import Any, Self

from pulsarctl.errors import UsageProblem

BYTES_MAX = 1 << 30  # the parts are assembled in memory


class Text:
    """A text without quotes under the type of JSON, which is how Pulsar takes the name of a group."""

    def __init__(self, text: str) -> None:
        self._text = text

    def encoded(self) -> tuple[bytes, str]:
        return self._text.encode(), "application/json"


class Form:
    def __init__(self) -> None:
        self._boundary = secrets.token_hex(16)
        self._parts: list[bytes] = []

    def text(self, name: str, value: str) -> Self:
        return self._add(f'name="{name}"', "text/plain", value.encode())

    def document(self, name: str, value: Any) -> Self:
        return self._add(f'name="{name}"', "application/json", json.dumps(value).encode())

    def file(self, name: str, path: str) -> Self:
        """Raises `UsageProblem`."""
        try:
            if Path(path).stat().st_size > BYTES_MAX:
                raise UsageProblem(f"cannot upload {path}: it has more than {BYTES_MAX >> 20} MiB")
            content = Path(path).read_bytes()
        except OSError as error:
            raise UsageProblem(f"cannot read {path}: {error.strerror}") from error
        shown = "".join(char for char in Path(path).name if char.isprintable() and char != '"')
        return self._add(f'name="{name}"; filename="{shown}"', "application/octet-stream", content)

    def encoded(self) -> tuple[bytes, str]:
        """The body and its content type."""
        return b"".join([*self._parts, f"--{self._boundary}--\r\n".encode()]), (
            f"multipart/form-data; boundary={self._boundary}"
        )

    def _add(self, disposition: str, kind: str, content: bytes) -> Self:
        head = f"--{self._boundary}\r\nContent-Disposition: form-data; {disposition}\r\nContent-Type: {kind}\r\n\r\n"
        self._parts += [head.encode(), content, b"\r\n"]
        return self
