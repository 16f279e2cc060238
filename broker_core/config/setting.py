"""How a field of the configuration is declared: its Pulsar key, its default, its bounds and its one sentence."""

from dataclasses import dataclass, field
from typing import Any

MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Setting:
    """What a key of a configuration file may hold. `scale`: how much of the field one unit of the key is."""

    key: str
    default: Any
    doc: str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    scale: float = 1

    @property
    def file_default(self) -> Any:
        """The default as a file would give it."""
        return self.default if self.scale == 1 else round(self.default / self.scale)


def setting(
    key: str,
    default: Any,
    doc: str,
    *,
    least: float | None = None,
    most: float | None = None,
    choices: tuple[str, ...] = (),
    scale: float = 1,
) -> Any:
    """A configuration field: its key in Pulsar's own files, its default, and one sentence about it."""
    described = Setting(key, default, doc, least, most, choices, scale)
    return field(default=default, metadata={"setting": described})
