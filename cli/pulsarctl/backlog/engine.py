"""The choice of the engine that counts a backlog: this process for small plans, Spark for large ones. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from pulsarctl.errors import CliError

LOCAL_BYTES_MAX = 64 * 1024 * 1024
LOCAL_ENTRIES_MAX = 200_000


class Engine(StrEnum):
    AUTO = "auto"
    SPARK = "spark"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """`notice` is what the user should know about the choice."""

    engine: Engine
    notice: str | None = None


def choose(
    engine: Engine, *, entries: int, size: int, bytes_max: int, require_spark: Callable[[], object], work: str = ""
) -> EngineChoice:
    """`require_spark` raises `CliError` without Spark; only a plan that is too large for the local engine needs it.

    `work` is what one process does, if it is not reading entries.
    """
    if engine is Engine.AUTO and size <= bytes_max and entries <= LOCAL_ENTRIES_MAX:
        return EngineChoice(Engine.LOCAL)
    if engine is Engine.LOCAL:
        return EngineChoice(Engine.LOCAL)
    try:
        require_spark()
    except CliError as error:
        if engine is Engine.SPARK:
            raise
        return EngineChoice(
            Engine.LOCAL, f"notice: {error.message}, so one process {work or f'reads {entries:,} entries'}"
        )
    return EngineChoice(Engine.SPARK)
