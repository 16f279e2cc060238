"""The declaration of a configuration field: its Pulsar key, its default, its bounds, and one sentence about it."""

from dataclasses import field
from typing import Any, NamedTuple

MB = 1 << 20


class Setting(NamedTuple):
    """The values that a key of a configuration file can hold. `scale`: how much of the field one unit of the key is.

    `dynamic`: it can change while the broker runs (`config.dynamic`). `empty`: the value of a key without a value; None
    for the default.
    """

    key: str
    default: Any
    doc: str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    scale: float = 1
    dynamic: bool = False
    empty: Any = None

    def text_of(self, value: Any) -> str:
        """A value of the field as text, in the unit of the key."""
        shown = value if self.scale == 1 else round(value / self.scale)
        if isinstance(shown, float) and shown.is_integer():
            shown = int(shown)
        return str(shown).lower() if isinstance(shown, bool) else str(shown)

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
    dynamic: bool = False,
    empty: Any = None,
) -> Any:
    """A configuration field: its key in Pulsar's own files, its default, and one sentence about it.

    `dynamic`: it can change while the broker runs. Then it must be read at each use, or renewed after a change.
    `empty`: the value of a key without a value; None for the default.
    """
    described = Setting(key, default, doc, least, most, choices, scale, dynamic, empty)
    return field(default=default, metadata={"setting": described})
