"""Prints the oldest version that pyproject.toml allows of each dependency, as constraints for pip.

`make lowest` tests with them, so that a lower bound is a fact and not a hope.
"""

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
BOUND = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*])?>=([0-9.]+)")
# What a user installs, and not what only this repository needs.
EXTRAS = ("java", "offload", "iceberg", "spark", "sql", "security")


def constraints(dependencies: list[str]) -> list[str]:
    """`name==version` for each `name>=version`. Raises `SystemExit` for a dependency without a lower bound."""
    found = [(dependency, BOUND.match(dependency)) for dependency in dependencies]
    if unbound := [dependency for dependency, bound in found if bound is None]:
        raise SystemExit(f"pyproject.toml: no lower bound: {', '.join(unbound)}")
    return sorted({f"{bound[1]}=={bound[2]}" for _, bound in found if bound is not None})


def of_users(project: dict[str, Any]) -> list[str]:
    """The dependencies of the program and of each extra."""
    return [*project["dependencies"], *(one for extra in EXTRAS for one in project["optional-dependencies"][extra])]


if __name__ == "__main__":
    sys.stdout.write("\n".join(constraints(of_users(tomllib.loads(PYPROJECT.read_text())["project"]))) + "\n")
