"""Random pairs of Avro schemas; the second is the first with a few changes."""

import copy
import random
from collections.abc import Sequence
from typing import Any

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
NAMES = ("A", "B", "C", "x.A", "x.B", "y.A")
FIELDS = ("a", "b", "c", "d")
SYMBOLS = ("RED", "GREEN", "BLUE")
DEFAULTS: tuple[Any, ...] = (None, True, 1, 1.5, "a", "RED", [], {}, [1], {"a": 1})


class PairMaker:
    """`bad_defaults`: the share of defaults that do not match their type, from 0 to 1."""

    def __init__(self, source: random.Random, *, bad_defaults: float = 0.1, names: Sequence[str] = NAMES) -> None:
        self._random = source
        self._free_names = names
        self._bad_defaults = bad_defaults
        self._names: list[str] = []

    def pair(self) -> tuple[Any, Any]:
        """Two schemas as JSON values; one in a thousand refers to a type that the change removed."""
        self._names = []
        first = self._record(0)
        second = copy.deepcopy(first)
        for _ in range(self._random.randint(0, 3)):
            self._change(second)
        return (second, first) if self._random.random() < 0.5 else (first, second)

    def _type(self, depth: int) -> Any:
        kind = self._random.random()
        if depth > 2 or kind < 0.4:
            return self._random.choice(PRIMITIVES)
        if kind < 0.5:
            return {"type": "array", "items": self._type(depth + 1)}
        if kind < 0.6:
            return {"type": "map", "values": self._type(depth + 1)}
        if kind < 0.75:
            return self._union(depth)
        if kind < 0.8 and self._names:
            return self._random.choice(self._names)
        return self._random.choice((self._record, self._enum, self._fixed))(depth + 1)

    def _new_name(self) -> str | None:
        free = [name for name in self._free_names if name not in self._names]
        if not free:
            return None
        name = self._random.choice(free)
        self._names.append(name)
        return name

    def _record(self, depth: int) -> Any:
        name = self._new_name()
        if name is None:
            return "int"
        space, _, short = name.rpartition(".")
        made: dict[str, Any] = {"type": "record", "name": short, "namespace": space, "fields": []}
        for field in self._random.sample(FIELDS, self._random.randint(0, 3)):
            made["fields"].append(self._field(field, depth))
        return made

    def _field(self, name: str, depth: int) -> dict[str, Any]:
        kind = self._type(depth + 1)
        made = {"name": name, "type": kind}
        if self._random.random() < 0.5:
            made["default"] = self._default(kind)
        return made

    def _default(self, kind: Any) -> Any:
        if self._random.random() < self._bad_defaults:
            return self._random.choice(DEFAULTS)
        if isinstance(kind, list):
            return self._default(kind[0])
        if isinstance(kind, dict):
            kind, symbols, size = kind["type"], kind.get("symbols", [""]), kind.get("size", 0)
            simple = {"array": [], "map": {}, "record": {}, "enum": symbols[0], "fixed": "f" * size}
            return simple.get(kind, 0)
        return {"null": None, "boolean": True, "bytes": "b", "string": "s", "float": 1.5, "double": 2.5}.get(kind, 7)

    def _enum(self, depth: int) -> Any:
        name = self._new_name()
        if name is None:
            return "string"
        space, _, short = name.rpartition(".")
        symbols = self._random.sample(SYMBOLS, self._random.randint(1, 3))
        made: dict[str, Any] = {"type": "enum", "name": short, "namespace": space, "symbols": symbols}
        if self._random.random() < 0.3:
            made["default"] = self._random.choice(symbols)
        return made

    def _fixed(self, depth: int) -> Any:
        name = self._new_name()
        if name is None:
            return "bytes"
        space, _, short = name.rpartition(".")
        return {"type": "fixed", "name": short, "namespace": space, "size": self._random.randint(1, 2)}

    def _union(self, depth: int) -> list[Any]:
        branches: dict[str, Any] = {}
        for _ in range(self._random.randint(1, 3)):
            branch = self._type(depth + 1)
            if not isinstance(branch, list):
                branches.setdefault(_branch_name(branch), branch)
        return list(branches.values()) or ["null"]

    def _change(self, schema: Any) -> None:
        """Changes one place of a tree of dictionaries and lists."""
        nodes = [node for node in _nodes(schema) if isinstance(node, dict)]
        node = self._random.choice(nodes)
        kind = node.get("type")
        if kind == "record":
            self._change_record(node)
        elif kind == "enum":
            node["symbols"] = self._random.sample(SYMBOLS, self._random.randint(1, 3))
            node.pop("default", None)
        elif kind == "fixed":
            node["size"] = self._random.randint(1, 2)
        elif isinstance(kind, str) and kind in ("array", "map"):
            node["items" if kind == "array" else "values"] = self._random.choice(PRIMITIVES)
        elif "name" in node:
            self._change_field(node)

    def _change_record(self, record: dict[str, Any]) -> None:
        taken = [name for field in record["fields"] for name in (field["name"], *field.get("aliases", ()))]
        free = [name for name in FIELDS if name not in taken]
        choice = self._random.randint(0, 3)
        if choice == 0 and free:
            kinds: list[Any] = [*PRIMITIVES, ["null", "string"], ["int", "null"]]
            kind = self._random.choice(kinds)
            field = {"name": self._random.choice(free), "type": kind}
            if self._random.random() < 0.7:
                field["default"] = self._default(kind)
            record["fields"].append(field)
        elif choice == 1 and record["fields"] and not any(_defines(field) for field in record["fields"]):
            record["fields"].pop(self._random.randrange(len(record["fields"])))
        elif choice == 2 and record["fields"] and free:
            field = self._random.choice(record["fields"])
            field["aliases"] = [field["name"]]
            field["name"] = self._random.choice(free)
        else:
            self._random.shuffle(record["fields"]) if not any(map(_defines, record["fields"])) else None

    def _change_field(self, field: dict[str, Any]) -> None:
        if not _defines(field):
            optional = [field["type"], "null"] if isinstance(field["type"], str) and field["type"] != "null" else "long"
            others: list[Any] = [*PRIMITIVES, optional, ["int", "string"]]
            field["type"] = self._random.choice(others)
        if "default" in field:
            field["default"] = self._default(field["type"])


def _branch_name(branch: Any) -> str:
    if isinstance(branch, dict):
        name = branch.get("name")
        return f"{branch['namespace']}.{name}".lstrip(".") if name else str(branch["type"])
    return str(branch)


def _nodes(tree: Any) -> list[Any]:
    parts = list(tree.values()) if isinstance(tree, dict) else tree if isinstance(tree, list) else []
    return [tree, *(node for part in parts for node in _nodes(part))]


def _defines(field: Any) -> bool:
    """Whether it defines a named type, which other parts may refer to."""
    return any(isinstance(node, dict) and "namespace" in node for node in _nodes(field))
