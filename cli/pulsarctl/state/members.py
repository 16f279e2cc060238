"""The members in which two documents differ."""

from collections.abc import Iterator
from typing import Any

from pulsarctl.state.plan import Part

NAME = "name"
NULL = "null"
SCHEMA = "schema"
NOT_COMPARED = (SCHEMA, "properties")


def changed(part: Part) -> Iterator[Part]:
    """The innermost members that differ, or the part itself if one side has no members to compare.

    Fields of a record schema are members by their names. Properties of a schema are not compared.
    """
    old, new = _members(part.old), _members(part.new)
    if old is None or new is None:
        yield part
        return
    for name in [*old, *(name for name in new if name not in old)]:
        path = (*part.path, name)
        before, after = (_value(path, members) for members in (old, new))
        if before != after and path != NOT_COMPARED:
            yield from changed(Part(path, before, after))
    if isinstance(part.old, list) and not _is_in_order(list(old), list(new)):
        yield Part(part.path, list(old), list(new))


def _members(value: Any) -> dict[str, Any] | None:
    """A document by its keys, or a list of named documents by their names."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, list) or not all(isinstance(item, dict) and NAME in item for item in value):
        return None
    named = {str(item[NAME]): {key: item[key] for key in item if key != NAME} for item in value}
    return named if len(named) == len(value) > 0 else None


def _value(path: tuple[str, ...], members: dict[str, Any]) -> Any:
    """None is for a member that is not there; in a schema, the default of a field may be null."""
    value = members.get(path[-1])
    return NULL if value is None and path[0] == SCHEMA and path[-1] in members else value


def _is_in_order(old: list[str], new: list[str]) -> bool:
    return [name for name in old if name in new] == [name for name in new if name in old]
