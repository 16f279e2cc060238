"""How a configuration field is declared: its Pulsar key, its default, its bounds, and one sentence about it."""

from dataclasses import dataclass, field
from typing import Any

MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Setting:
    """The values that a key of a configuration file can hold. `scale`: how much of the field one unit of the key is."""

    key: str
    default: Any
    doc: str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    scale: float = 1

    @property
    def file_default(self) -> Any:
        """The default in the unit that a file uses."""
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
