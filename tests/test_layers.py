"""What `.importlinter` checks, what modules say about themselves, and what the architecture page says."""

import ast
import configparser
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TypeGuard

import grimp
import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = {"broker_core": ROOT / "broker_core", "pulsarctl": ROOT / "cli" / "pulsarctl"}
MOST_LOOSE_MODULES = 12


def modules() -> dict[str, Path]:
    return {
        ".".join((package, *path.relative_to(root).with_suffix("").parts)): path
        for package, root in PACKAGES.items()
        for path in root.rglob("*.py")
    }


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def docstring(path: Path) -> str:
    return ast.get_docstring(parsed(path)) or ""


def test_each_module_that_claims_to_be_pure_is_checked() -> None:
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    checked = set(contracts["importlinter:contract:pure"]["source_modules"].split())
    claims = {name for name, path in modules().items() if re.search(r"\bPure[.:]", docstring(path))}
    assert claims == checked


@pytest.mark.parametrize("package", PACKAGES)
def test_no_modules_import_each_other_in_a_circle(package: str) -> None:
    """Imports for types count. The contracts order rooms; this orders the modules inside them."""
    graph = grimp.build_graph(package)
    TopologicalSorter({name: graph.find_modules_directly_imported_by(name) for name in graph.modules}).prepare()


def test_each_package_of_the_broker_says_what_belongs_in_it() -> None:
    packages = [
        path for name, path in modules().items() if name.endswith(".__init__") and name.startswith("broker_core")
    ]
    assert not [path.parent.name for path in packages if not docstring(path)]


def is_dataclass(node: ast.AST) -> TypeGuard[ast.ClassDef]:
    named = "dataclass"
    return isinstance(node, ast.ClassDef) and any(named in ast.unparse(each) for each in node.decorator_list)


def test_each_dataclass_says_what_it_is() -> None:
    """Without a docstring, Python composes one from the signature at each start."""
    silent = [
        f"{name}.{node.name}"
        for name, path in modules().items()
        for node in ast.walk(parsed(path))
        if is_dataclass(node) and not ast.get_docstring(node)
    ]
    assert not silent


@pytest.mark.parametrize("package", PACKAGES)
def test_few_modules_are_outside_the_packages(package: str) -> None:
    loose = [path.stem for path in PACKAGES[package].glob("*.py") if path.stem != "__init__"]
    assert len(loose) <= MOST_LOOSE_MODULES


def test_each_module_that_the_architecture_page_names_exists() -> None:
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
    named = set(re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)`", page)) - {"__init__.py", "catalog.log", "metadata.sqlite"}
    known = {name.partition(".")[2].removesuffix(".__init__") for name in modules()}
    assert len(named) > 20
    assert named - known == set()
