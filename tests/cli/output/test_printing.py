"""Only the render module prints, and only through the streams module."""

import ast
from functools import cache
from pathlib import Path

import pulsarctl

PACKAGE = Path(pulsarctl.__file__).parent


@cache
def sources() -> dict[str, ast.Module]:
    return {str(path.relative_to(PACKAGE)): ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")}


def writes(tree: ast.AST) -> bool:
    """`sys.stdout.write(...)`, `sys.stderr.buffer.write(...)`, `print(...)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called == "print" or (called.startswith("sys.std") and called.endswith((".write", ".writelines"))):
                return True
    return False


def test_only_the_streams_module_writes_to_stdout_and_stderr() -> None:
    assert {name for name, tree in sources().items() if writes(tree)} == {"output/streams.py"}


def test_only_the_render_module_writes_through_streams() -> None:
    calls = {
        name
        for name, tree in sources().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith(("streams.out", "streams.err"))
    }
    assert calls == {"output/render.py"}
