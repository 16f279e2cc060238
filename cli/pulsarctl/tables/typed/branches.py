"""Unions of several types: which of its branches a value has.

Avro's decoder does not say it: an int is like a long, and a map is like a record. So each branch becomes a record with
one field. It has the same bytes, and is decoded as {branch: value}. JSON has no branches, so there the value decides.
"""

from collections.abc import Sequence
from itertools import count
from typing import Any

_KINDS: dict[type, tuple[str, ...]] = {
    bool: ("boolean",),
    int: ("long", "int", "double", "float", "decimal"),
    float: ("double", "float", "decimal"),
    str: ("string", "enum", "bytes", "fixed", "decimal"),
    list: ("array",),
    dict: ("record", "map"),
}
"""The types of Avro that a value of JSON may have, the likeliest first."""


def with_branches(definition: Any) -> Any:
    """A definition with a record for each branch of such a union.

    It has no defaults: decoders do not need them, and Pulsar does not check whether they fit. Raises `KeyError`,
    `TypeError`, and `RecursionError` for what is not a definition.
    """
    return _Branches().of(definition)


class _Branches:
    def __init__(self) -> None:
        self._numbers = count()

    def of(self, schema: Any) -> Any:
        if isinstance(schema, list):
            return self._union(schema)
        if not isinstance(schema, dict):
            return schema
        parts = {name: part for name, part in schema.items() if not name.startswith("__")}  # fastavro trusts such names
        for name in ("items", "values"):
            if name in parts:
                parts[name] = self.of(parts[name])
        if parts["type"] in ("record", "error"):
            parts["fields"] = [{"name": field["name"], "type": self.of(field["type"])} for field in parts["fields"]]
        return parts

    def _union(self, branches: list[Any]) -> list[Any]:
        types = [branch for branch in branches if branch != "null"]
        if len(types) < 2:
            return [self.of(branch) for branch in branches]
        names = iter(_different([_name(branch) for branch in types]))
        return [branch if branch == "null" else self._branch(next(names), branch) for branch in branches]

    def _branch(self, name: str, schema: Any) -> dict[str, Any]:
        """Its own name has no namespace, so that of the names in it stays what it was."""
        fields = [{"name": name, "type": self.of(schema)}]
        return {"type": "record", "name": f"pulsarctl_branch_{next(self._numbers)}", "fields": fields}


def _name(branch: Any) -> str:
    if isinstance(branch, dict):
        branch = branch.get("name") or branch.get("logicalType") or branch["type"]
    return str(branch).rpartition(".")[2]


def _different(names: Sequence[str]) -> list[str]:
    """Two namespaces may have a type of one name."""
    numbers = [names[: place + 1].count(name) for place, name in enumerate(names)]
    return [name if number == 1 else f"{name}__{number}" for name, number in zip(names, numbers, strict=True)]


def branch_of(value: Any, branches: Sequence[tuple[str, Any]]) -> str:
    """The name of the branch that a value of JSON has. Raises `ValueError`."""
    kinds = next((kinds for kind, kinds in _KINDS.items() if isinstance(value, kind)), ())
    fitting = [branch for kind in kinds for branch in branches if _kind(branch[1]) == kind]
    if not fitting:
        raise ValueError(f"{type(value).__name__} is not a branch of the union")
    return max(fitting, key=lambda branch: _likeness(branch[1], value))[0]


def _kind(schema: Any) -> str:
    """A decimal is a number of JSON, or its text, whatever its bytes are in Avro."""
    return "decimal" if schema.get("logicalType") == "decimal" else schema["type"]


def _likeness(schema: Any, value: Any) -> int:
    if schema["type"] == "record":
        return sum(field["name"] in value for field in schema["fields"])
    return int(schema["type"] != "enum" or value in schema["symbols"])
