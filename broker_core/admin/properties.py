"""Properties in the body of a request: strings by name, with a limit on their size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_plus

from broker_core.admin.call import Call
from broker_core.errors import InvalidRequest
from broker_core.metadata.policies import json_values
from broker_core.metadata.policies.json_values import shown


def read_properties(call: Call, value: Any, before: Mapping[str, str] | None = None) -> dict[str, str]:
    """The properties in a JSON value, added to those `before`. Raises `InvalidRequest`."""
    most = call.broker.config.commands.max_properties
    sent = json_values.mapping(value or {}, "properties")
    _check_size(sum(map(len, sent)), most)  # checked first, so that many thousands cost no work
    merged = {**(before or {}), **json_values.properties(sent, "properties")}
    _check_size(sum(len(key) + len(text) for key, text in merged.items()), most)
    return merged


def wanted_properties(call: Call) -> dict[str, str]:
    """The properties in the query, as `key=value,key=value` with encoded names and values. Raises `InvalidRequest`."""
    wanted = {}
    for pair in call.query.get("properties", "").split(","):
        key, separator, value = (unquote_plus(part.strip()) for part in pair.partition("="))
        if separator and key:
            wanted[key] = value
        elif pair.strip():
            raise InvalidRequest(f"properties must be KEY=VALUE pairs, not {shown(pair)}")
    return wanted


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise InvalidRequest(f"the properties have more than {most} characters (maxPropertiesSizeInBytes)")
