"""A configuration in sections: what the configuration of the broker and that of the proxy have in common."""

import dataclasses
from collections.abc import Iterator
from typing import Any, ClassVar, Self


class Sections:
    """Base of a frozen dataclass whose fields are sections, and whose sections' fields are made by `setting`.

    A field of a section without a setting is not a key: a section that extends another one hides a key in this way.
    """

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    def replace(self, **sections: Any) -> Self:
        return dataclasses.replace(self, **sections)

    @classmethod
    def section_names(cls) -> list[str]:
        return [section.name for section in dataclasses.fields(cls)]

    def settings(self) -> Iterator[tuple[str, dataclasses.Field[Any], Any]]:
        """Yield for each setting its section's name, its field (`.type`, `.metadata["setting"]`), and its value."""
        for name in self.section_names():
            part = getattr(self, name)
            for described in dataclasses.fields(part):
                if "setting" in described.metadata:
                    yield name, described, getattr(part, described.name)
