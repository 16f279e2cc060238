"""What runs a query: each engine in its own language, so only the user chooses."""

from enum import StrEnum


class SqlEngine(StrEnum):
    LOCAL = "local"
    SPARK = "spark"
