"""The types of all versions of a schema -> one type, and how values of each version fit into it. Pure.

Fields are united by name. A field whose type became wider (int to long, float to double) has the wide type. Otherwise
the newest type has the name, and the field of the older versions is called NAME__vVERSION, with the last of them.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

Version = int
Renames = dict[str, tuple[str, "Renames | None"]]
"""Name of a field in one version -> its name in the united type, and the renames inside of it."""

_WIDER = (
    (pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    (pa.float32(), pa.float64()),
)


class United(NamedTuple):
    """`renames` has only versions whose values must be changed. `misfits` are versions that cannot be shown in it."""

    arrow: pa.DataType
    renames: dict[Version, Renames]
    misfits: frozenset[Version] = frozenset()


def unite(types: Sequence[tuple[Version, pa.DataType]]) -> United:
    """`types` are those of all versions, oldest first, at least one."""
    newest_first = list(reversed(types))
    group, misfits = _compatible(newest_first)
    united = _united(list(reversed(group)))
    return united._replace(misfits=frozenset(version for version, _ in misfits))


def _united(types: Sequence[tuple[Version, pa.DataType]]) -> United:
    """The united type of types that `_compatible` put together."""
    first = types[0][1]
    if pa.types.is_struct(first):
        return _united_structs(types)
    if pa.types.is_list(first):
        inner = _united([(version, kind.value_type) for version, kind in types])
        return United(pa.list_(inner.arrow), inner.renames)
    widest = first
    for _, kind in types[1:]:
        widest = _wider(widest, kind) or kind
    return United(widest, {})


def _united_structs(types: Sequence[tuple[Version, pa.DataType]]) -> United:
    fields: dict[str, pa.DataType] = {}
    renames: dict[Version, Renames] = {}
    for name in _names(types):
        waiting = [
            (version, kind.field(name).type) for version, kind in reversed(types) if kind.get_field_index(name) >= 0
        ]
        while waiting:
            group, rest = _compatible(waiting)
            shown = name if name not in fields else f"{name}__v{group[0][0]}"
            part = _united(list(reversed(group)))
            fields[shown] = part.arrow
            for version, _ in group:
                if shown != name or version in part.renames:
                    renames.setdefault(version, {})[name] = (shown, part.renames.get(version))
            waiting = rest
    return United(pa.struct(list(fields.items())), renames)


def _names(types: Iterable[tuple[Version, pa.DataType]]) -> list[str]:
    """In the order in which they appeared."""
    return list(dict.fromkeys(field.name for _, kind in types for field in kind))


def _compatible(
    newest_first: Sequence[tuple[Version, pa.DataType]],
) -> tuple[list[tuple[Version, pa.DataType]], list[tuple[Version, pa.DataType]]]:
    """The newest versions that fit one type, and the older ones from the first that does not."""
    merged = newest_first[0][1]
    for index, (_, kind) in enumerate(newest_first):
        wider = _wider(merged, kind)
        if wider is None:
            return list(newest_first[:index]), list(newest_first[index:])
        merged = wider
    return list(newest_first), []


def _wider(first: pa.DataType, second: pa.DataType) -> pa.DataType | None:
    """The type that holds both, or None. Any two structs have one."""
    if first == second:
        return first
    if pa.types.is_struct(first) and pa.types.is_struct(second):
        return first
    if pa.types.is_list(first) and pa.types.is_list(second):
        inner = _wider(first.value_type, second.value_type)
        return None if inner is None else pa.list_(inner)
    for order in _WIDER:
        if first in order and second in order:
            return order[max(order.index(first), order.index(second))]
    return None


def renamed(value: Any, renames: Renames) -> Any:
    """A decoded value of an older version, with the names of the united type."""
    if isinstance(value, list):
        return [renamed(member, renames) for member in value]
    if not isinstance(value, dict):
        return value
    members = dict(value)
    for name, (shown, inner) in renames.items():
        if name in members:
            member = members.pop(name)
            members[shown] = member if inner is None else renamed(member, inner)
    return members
