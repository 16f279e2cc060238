"""The settings as rows for people: every value with its source, and secrets masked."""

from dataclasses import fields
from typing import Any

from pulsarctl.output.redaction import MASK, forms_masked
from pulsarctl.settings.client_security import is_secret
from pulsarctl.settings.settings import Settings

NOT_SHOWN = ("origins", "notices")


def rows(settings: Settings) -> list[dict[str, Any]]:
    """`setting`, `value`, and `source` of each field that has a value."""
    return [
        {"setting": item.name, "value": value, "source": settings.origin(item.name)}
        for item in fields(Settings)
        if item.name not in NOT_SHOWN and (value := masked(item.name, getattr(settings, item.name))) is not None
    ]


def masked(field: str, value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    return MASK if is_secret(field, str(value)) else forms_masked(str(value))
