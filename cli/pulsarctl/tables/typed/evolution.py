"""The types of all versions of a schema -> one type, and how values of each version fit into it. Pure.

Fields are united by name. A field whose type became wider (int to long, float to double) has the wide type. Otherwise
the newest type has the name, and the field of the older versions is called NAME__vVERSION, with the last of them. A
table that is kept has a column already: there, the oldest type has the name, and others have their first version. SQL
does not distinguish upper and lower case: of two names that differ only in it, the later one is called NAME__2.
"""

from collections.abc import Iterable, Sequence
from itertools import chain, count
from typing import Any, NamedTuple

import pyarrow as pa

Writer = tuple[str, int]
"""The topic without its partition, and the version of its schema."""

Renames = dict[str, tuple[str, "Renames | None"]]
"""Name of a field in one version -> its name in the united type, and the renames inside of it."""

_WIDER = (
    (pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    (pa.float32(), pa.float64()),
)


class United(NamedTuple):
    """`renames` has only versions whose values must be changed. `misfits` are versions that cannot be shown in it."""

    arrow: pa.DataType
    renames: dict[Writer, Renames]
    misfits: frozenset[Writer] = frozenset()


def unite(types: Sequence[tuple[Writer, pa.DataType]], *, oldest_first: bool = False) -> United:
    """`types` are those of all versions, oldest first, at least one. `oldest_first`: the oldest type has the name."""
    group, misfits = _compatible(_ranked(types, oldest_first))
    united = _united(_ranked(group, oldest_first), oldest_first)
    return united._replace(misfits=frozenset(version for version, _ in misfits))


def _ranked(types: Sequence[tuple[Writer, pa.DataType]], oldest_first: bool) -> Sequence[tuple[Writer, pa.DataType]]:
    """The type that has the name comes first. Twice, it is the order of versions again."""
    return types if oldest_first else list(reversed(types))


def _united(types: Sequence[tuple[Writer, pa.DataType]], oldest_first: bool) -> United:
    """The united type of types that `_compatible` put together."""
    first = types[0][1]
    if pa.types.is_struct(first):
        return _united_structs(types, oldest_first)
    if pa.types.is_list(first):
        inner = _united([(version, kind.value_type) for version, kind in types], oldest_first)
        return United(pa.list_(inner.arrow), inner.renames)
    if pa.types.is_map(first):
        inner = _united([(version, kind.item_type) for version, kind in types], oldest_first)
        return United(pa.map_(first.key_type, inner.arrow), inner.renames)
    widest = first
    for _, kind in types[1:]:
        widest = _wider(widest, kind) or kind
    return United(widest, {})


def _united_structs(types: Sequence[tuple[Writer, pa.DataType]], oldest_first: bool) -> United:
    fields: dict[str, pa.DataType] = {}
    renames: dict[Writer, Renames] = {}
    taken: set[str] = set()
    for name in _names(types):
        wanted = name
        having = [(version, kind.field(name).type) for version, kind in types if kind.get_field_index(name) >= 0]
        waiting = _ranked(having, oldest_first)
        while waiting:
            group, waiting = _compatible(waiting)
            shown = _free(wanted, taken)
            part = _united(_ranked(group, oldest_first), oldest_first)
            fields[shown] = part.arrow
            for version, _ in group:
                if shown != name or version in part.renames:
                    renames.setdefault(version, {})[name] = (shown, part.renames.get(version))
            wanted = f"{name}__v{waiting[0][0][1]}" if waiting else ""
    return United(pa.struct(list(fields.items())), renames)


def _free(name: str, taken: set[str]) -> str:
    """The name, or with a number after it, which is taken then."""
    names = chain((name,), (f"{name}__{number}" for number in count(2)))
    free = next(each for each in names if each.lower() not in taken)
    taken.add(free.lower())
    return free


def _names(types: Iterable[tuple[Writer, pa.DataType]]) -> list[str]:
    """In the order in which they appeared."""
    return list(dict.fromkeys(field.name for _, kind in types for field in kind))


def _compatible(
    ranked: Sequence[tuple[Writer, pa.DataType]],
) -> tuple[list[tuple[Writer, pa.DataType]], list[tuple[Writer, pa.DataType]]]:
    """The first version and those that fit one type with it, and the others."""
    merged = ranked[0][1]
    fitting: list[tuple[Writer, pa.DataType]] = []
    others: list[tuple[Writer, pa.DataType]] = []
    for version, kind in ranked:
        wider = _wider(merged, kind)
        (others if wider is None else fitting).append((version, kind))
        merged = merged if wider is None else wider
    return fitting, others


def _wider(first: pa.DataType, second: pa.DataType) -> pa.DataType | None:
    """The type that holds both, or None. Any two structs have one."""
    if first == second:
        return first
    if pa.types.is_struct(first) and pa.types.is_struct(second):
        return first
    if pa.types.is_list(first) and pa.types.is_list(second):
        inner = _wider(first.value_type, second.value_type)
        return None if inner is None else pa.list_(inner)
    if pa.types.is_map(first) and pa.types.is_map(second) and first.key_type == second.key_type:
        inner = _wider(first.item_type, second.item_type)
        return None if inner is None else pa.map_(first.key_type, inner)
    for order in _WIDER:
        if first in order and second in order:
            return order[max(order.index(first), order.index(second))]
    return None


def renamed(value: Any, renames: Renames) -> Any:
    """A decoded value of an older version, with the names of the united type."""
    if isinstance(value, list):
        return [renamed(member, renames) for member in value]
    if isinstance(value, tuple):  # an item of a map
        return value[0], renamed(value[1], renames)
    if not isinstance(value, dict):
        return value
    members = dict(value)
    for name, (shown, inner) in renames.items():
        if name in members:
            member = members.pop(name)
            members[shown] = member if inner is None else renamed(member, inner)
    return members
