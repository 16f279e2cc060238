"""Optional libraries, and the smallest extra of the package that installs them."""

from collections.abc import Collection
from importlib.util import find_spec

from pulsarctl.errors import CliError

EXTRAS = {  # as in pyproject.toml, the smallest first
    "offload": {"pyarrow"},
    "security": {"jwt", "cryptography", "bcrypt"},
    "sql": {"duckdb", "sqlglot", "pyarrow", "numpy"},
    "iceberg": {"pyiceberg", "pyarrow", "numpy"},
    "spark": {"pyspark", "pyarrow", "numpy", "pandas"},
}


def extra_with(libraries: Collection[str]) -> str | None:
    """The smallest extra that has all these modules; None if there is none."""
    return next((name for name, inside in EXTRAS.items() if inside.issuperset(libraries)), None)


def require(action: str, *libraries: str) -> None:
    """Raises `CliError` with what to install if a library is missing. `action` is for the error: "count a backlog"."""
    missing = [name for name in libraries if find_spec(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise CliError(
            f"cannot {action}: {' and '.join(missing)} {verb} not installed",
            hint=f"run pip install 'pulsarctl[{extra_with(missing)}]'",
        )
