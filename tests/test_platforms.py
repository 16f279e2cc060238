"""Client commands run on Windows too, so only the broker may import Unix-only modules."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
UNIX_ONLY = {"fcntl", "grp", "pwd", "resource", "termios", "tty", "uvloop"}
CLIENT_SIDE = sorted((ROOT / "cli" / "pulsarctl").rglob("*.py")) + sorted((ROOT / "broker_core" / "wire").rglob("*.py"))


@pytest.mark.parametrize("path", CLIENT_SIDE, ids=lambda path: str(path.relative_to(ROOT)))
def test_client_code_imports_no_unix_only_module(path: Path) -> None:
    assert not UNIX_ONLY & set(imported(path))


def imported(path: Path) -> Iterator[str]:
    """Top-level names of all imports in a file, including those inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]
