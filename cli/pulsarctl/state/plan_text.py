"""A plan for people and for programs: `+` is created, `~` changed, `-` deleted, and `!` cannot be done."""

import json
from collections.abc import Iterator
from typing import Any

from pulsarctl.output.redaction import is_secret
from pulsarctl.policies.text import member_text, policy_text
from pulsarctl.state import scalable
from pulsarctl.state.members import SCHEMA, changed
from pulsarctl.state.plan import Change, Part, Plan
from pulsarctl.state.settings import QUOTA

SIGNS = {"create": "+", "update": "~", "delete": "-"}
HIDDEN = "(sensitive)"
EQUAL = "The broker has what the files describe."
_LOST = dict.fromkeys(("topic", scalable.KIND), "with its messages and subscriptions")


def lines(plan: Plan, equal: str = EQUAL) -> Iterator[tuple[str, str]]:
    """Each line with its sign, which selects its color; the sign is empty for lines that are only text.

    `equal`: what an empty plan means.
    """
    for change in plan.changes:
        sign = SIGNS[change.action]
        lost = f"  ({_LOST[change.kind]})" if change.action == "delete" and change.kind in _LOST else ""
        yield sign, f"  {sign} {change.kind} {change.name}{lost}"
        yield from _parts(change)
    for refusal in plan.refusals:
        yield "!", f"  ! {refusal}"
    yield "", summary(plan, equal)


def summary(plan: Plan, equal: str = EQUAL) -> str:
    """`Plan: 2 to create, 1 to change, none to delete.`"""
    if plan.is_empty:
        return f"No changes. {equal}"
    counts = {action: sum(change.action == action for change in plan.changes) for action in SIGNS}
    impossible = f" {len(plan.refusals)} cannot be done." if plan.refusals else ""
    return "Plan: {create} to create, {update} to change, {delete} to delete.".format(**counts) + impossible


def removed(plan: Plan) -> int:
    """How many objects, and parts of objects that stay, the plan deletes."""
    return sum(
        1 if change.action == "delete" else sum(part.new is None for part in change.parts) for change in plan.changes
    )


def document(plan: Plan) -> dict[str, Any]:
    """The plan as JSON."""
    counts = {action: sum(change.action == action for change in plan.changes) for action in SIGNS}
    return {"changes": [_change(change) for change in plan.changes], "refusals": plan.refusals, "summary": counts}


def _change(change: Change) -> dict[str, Any]:
    parts = [
        {"path": list(part.path), "old": _safe(part, part.old), "new": _safe(part, part.new)} for part in change.parts
    ]
    return {"action": change.action, "kind": change.kind, "name": change.name, "parts": parts}


def _parts(change: Change) -> Iterator[tuple[str, str]]:
    """A line for each member that differs, and not for the documents around it."""
    members = [_without_secret(part, member) for part in change.parts for member in changed(part)]
    names = [".".join(map(_printable, member.path)) for member in members]
    width = max(map(len, names), default=0)
    for name, member in zip(names, members, strict=True):
        sign = "+" if member.old is None else "-" if member.new is None else "~"
        yield sign, f"      {sign} {name:<{width}}  {_values(member)}".rstrip()


def _without_secret(part: Part, member: Part) -> Part:
    """The member of a part. Fields of a schema have names, but no values."""
    inner = member.path[len(part.path) :] if part.path[0] != SCHEMA else ()
    is_hidden = any(map(is_secret, inner))
    old, new = (
        HIDDEN if is_hidden and value is not None else _safe(member, value) for value in (member.old, member.new)
    )
    return Part(member.path, old, new)


def count(number: int, noun: str) -> str:
    """`1 change`, `2 changes`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _values(part: Part) -> str:
    values = [value for value in (part.old, part.new) if value is not None]
    if len(values) == 2 and values[0] == values[1]:  # they differ in a secret
        return HIDDEN
    shown = [_text(part.path, value) for value in values]
    if len(shown) == 2 and shown[0] == shown[1]:  # they differ in a part that the text leaves out
        shown = [json.dumps(value, ensure_ascii=False) for value in values]
    return " -> ".join(map(_printable, shown))


def _printable(text: str) -> str:
    """The text on one line."""
    return text if text.isprintable() else json.dumps(text, ensure_ascii=False)


def _text(path: tuple[str, ...], value: Any) -> str:
    if path[0] == "policies":
        return _of_policy(path, value)
    if path == (SCHEMA,):
        definition = value.get(SCHEMA, "")
        return f"{value['type']} {_in_schema(definition)}".rstrip()
    if path[0] == SCHEMA:
        return _in_schema(value)
    if isinstance(value, list):
        return ", ".join(value) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text((key,), member)}" for key, member in value.items() if member)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _of_policy(path: tuple[str, ...], value: Any) -> str:
    name, *members = path[1:]
    if members and not isinstance(value, dict):
        return member_text(members[-1], value)
    if name == QUOTA and not members:
        return "; ".join(f"{kind}: {policy_text(name, quota)}" for kind, quota in value.items())
    return policy_text(name, value)


def _in_schema(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _safe(part: Part, value: Any) -> Any:
    """The value without secrets. Names of roles and properties say nothing about their values."""
    return _without_secrets(part.path[0] if len(part.path) == 1 else "", value)


def _without_secrets(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_secrets(key, member) for key, member in value.items()}
    return HIDDEN if value is not None and is_secret(name) else value
