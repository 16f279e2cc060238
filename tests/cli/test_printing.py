"""Only render.py prints, and commands meet in the client and not in each other."""

import ast
from pathlib import Path

import pulsarctl

PACKAGE = Path(pulsarctl.__file__).parent


def writes(tree: ast.AST) -> bool:
    """`sys.stdout.write(...)`, `sys.stderr.buffer.write(...)`, `print(...)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called == "print" or (called.startswith("sys.std") and called.endswith((".write", ".writelines"))):
                return True
    return False


def test_only_render_writes_to_stdout_and_stderr() -> None:
    writing = {
        str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if writes(ast.parse(path.read_text("utf-8")))
    }
    assert writing == {"render.py"}
