"""What a broker has -> a document that `apply` reads: only what is set, in a fixed order."""

from collections.abc import Callable
from typing import Any

from pulsarctl.state import scalable
from pulsarctl.state.documents import escaped
from pulsarctl.state.grammar import DOCUMENT
from pulsarctl.state.live import Document, Found, Objects
from pulsarctl.state.scope import Scope
from pulsarctl.values.shapes import Path

SETTING_DEPTH = 4  # topics/NAME/policies/SETTING: what is left out as a whole


def document(existing: Found, scope: Scope, leave_out: Callable[[str], None]) -> dict[str, Any]:
    """`leave_out` is told of each setting that `apply` would refuse, and why."""
    sections = {"scope": sorted(scope.names), **objects(existing)}
    for at, why in _refused(sections):
        if _remove(sections, at[:SETTING_DEPTH]):
            leave_out(f"{'.'.join(at)}: {why}")
    return {key: escaped(value) for key, value in sections.items() if value}


def _refused(sections: dict[str, Any]) -> list[tuple[Path, str]]:
    problems: list[tuple[Path, str]] = []
    DOCUMENT.read(sections, (), lambda at, why: problems.append((at, why)))
    return problems


def _remove(sections: dict[str, Any], at: Path) -> bool:
    """Remove a setting. Return whether it was there, since one may have several mistakes. Empty parts go with it."""
    object_, place = {}, sections
    for key in at[:-1]:
        object_, place = place, place.get(key, {})
    was_there = place.pop(at[-1], None) is not None
    if not place and len(at) == SETTING_DEPTH:
        object_.pop(at[-2], None)
    return was_there


def objects(existing: Found) -> dict[str, Any]:
    """The objects, without the broker's own cluster where it is implied, so that another cluster can have the same."""
    return {
        "clusters": existing.clusters,
        "tenants": {name: _tenant(settings, existing.cluster) for name, settings in existing.tenants.items()},
        "namespaces": {name: _set(settings) for name, settings in existing.namespaces.items()},
        "topics": {name: _topic(settings) for name, settings in existing.topics.items()},
        scalable.SECTION: {name: _set(settings) for name, settings in existing.scalable_topics.items()},
    }


def _tenant(tenant: Document, cluster: str) -> Document:
    own_alone = tenant.get("allowedClusters") == [cluster]
    return _set({key: value for key, value in tenant.items() if not (own_alone and key == "allowedClusters")})


def _topic(topic: Document) -> Document:
    subscriptions: Objects = topic.get("subscriptions") or {}
    return _set(topic | {"subscriptions": {name: _set(subscription) for name, subscription in subscriptions.items()}})


def _set(values: Document) -> Document:
    return {key: value for key, value in values.items() if value not in (None, {}, [], 0, "")}
