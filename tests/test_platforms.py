"""Client commands run on Windows too, so only the broker may import Unix-only modules."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNIX_ONLY = {"fcntl", "grp", "pwd", "resource", "termios", "tty", "uvloop"}
ASKS_FIRST = {ROOT / "cli" / "pulsarctl" / "output" / "one_writer.py"}  # whether this is a Unix
CLIENT_SIDE = sorted(
    {*(ROOT / "cli" / "pulsarctl").rglob("*.py"), *(ROOT / "broker_core" / "wire").rglob("*.py")} - ASKS_FIRST
)


IMPORT_ALL = """
import importlib, pkgutil, signal, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name in UNIX_ONLY:
            raise ModuleNotFoundError(f"no {name} on Windows", name=name)

for name in UNIX_ONLY:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Blocked())
del signal.SIGHUP
import pulsarctl
for module in pkgutil.walk_packages(pulsarctl.__path__, "pulsarctl."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if error.name in UNIX_ONLY:
                print(module.name, error)
"""


def test_client_code_imports_nothing_that_imports_a_unix_only_module() -> None:
    """A missing optional dependency is passed over."""
    script = f"UNIX_ONLY = {sorted(UNIX_ONLY)}{IMPORT_ALL}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


def test_client_code_imports_no_unix_only_module() -> None:
    assert [path for path in CLIENT_SIDE if UNIX_ONLY & set(imported(path))] == []


def imported(path: Path) -> Iterator[str]:
    """Top-level names of all imports in a file, including those inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]
