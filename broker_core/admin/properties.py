"""Properties in the body of a request: strings by name, with a limit on their size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker_core.admin.call import Call
from broker_core.errors import InvalidRequest
from broker_core.metadata.policies import json_values


def read_properties(call: Call, value: Any, before: Mapping[str, str] | None = None) -> dict[str, str]:
    """The properties in a JSON value, added to those `before`. Raises `InvalidRequest`."""
    most = call.broker.config.commands.max_properties
    sent = json_values.mapping(value or {}, "properties")
    _check_size(sum(map(len, sent)), most)  # checked first, so that many thousands cost no work
    merged = {**(before or {}), **json_values.properties(sent, "properties")}
    _check_size(sum(len(key) + len(text) for key, text in merged.items()), most)
    return merged


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise InvalidRequest(f"the properties have more than {most} characters (maxPropertiesSizeInBytes)")
