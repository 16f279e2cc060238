import pytest

for library in ("pyarrow", "duckdb", "sqlglot"):
    pytest.importorskip(library)
