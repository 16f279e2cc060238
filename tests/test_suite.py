"""Rules for the tests themselves: CONTRIBUTING.md, "Tests", says why."""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
TREES = {path.relative_to(TESTS): ast.parse(path.read_text()) for path in sorted(TESTS.rglob("*.py"))}


def imported(tree: ast.Module) -> Iterator[str]:
    """The full names of the modules that a module may import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_in_a_test_module(name: str) -> bool:
    """Whether the name is that of a test module or of something in it."""
    path = TESTS.parent
    for part in name.split("."):
        path /= part
        if part.startswith("test_") and path.with_suffix(".py").is_file():
            return True
    return False


def test_no_module_imports_from_a_test_module() -> None:
    found = [f"{path}: {name}" for path, tree in TREES.items() for name in imported(tree) if is_in_a_test_module(name)]
    assert not found, "move what tests share to a module that is named after its concept"


def test_an_import_from_a_test_module_is_recognized() -> None:
    assert is_in_a_test_module("tests.test_suite.TREES")
    assert is_in_a_test_module("tests.broker_core.test_names")
    assert not is_in_a_test_module("tests.condition.wait_until")
