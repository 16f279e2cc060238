"""The target of a job: a topic, a namespace, or a pattern such as `shop/eu/orders-*` or `shop/*` -> topics, parts."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from pulsarctl.admin.parts import PERSISTENT, Notice, part_names, parts_in
from pulsarctl.errors import NotFound, UsageProblem
from pulsarctl.values.names import SCALABLE, readable_topic, without_partition

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient

_WILDCARDS = "*?["


def topics(admin: "AdminClient", target: str, notice: Notice) -> dict[str, list[str]]:
    """The full names of the parts of each topic; no system topics unless one is named.

    `notice` learns of topics that are left out. Raises `NotFound` for a name that does not exist and for a pattern that
    matches nothing.
    """
    if not _is_pattern(target) and target.count("/") != 1:
        name = readable_topic(target)
        return {without_partition(name): part_names(admin, name)}
    matches = dict(_matching(admin, target, notice))
    if not matches and _is_pattern(target):
        raise NotFound(f"no persistent topic matches '{target}'")
    return matches


def partitions(admin: "AdminClient", target: str, notice: Notice) -> list[str]:
    """All parts of `topics`: partitions, segments, and topics that have neither."""
    return [part for parts in topics(admin, target, notice).values() for part in parts]


def _is_pattern(target: str) -> bool:
    return any(character in target for character in _WILDCARDS)


def _matching(admin: "AdminClient", target: str, notice: Notice) -> Iterator[tuple[str, list[str]]]:
    domain, tenant, namespace, topic = _words(target)
    for full_namespace in _namespaces(admin, tenant, namespace):
        for name, parts in parts_in(admin, full_namespace, notice, domain).items():
            if fnmatchcase(name.rpartition("/")[2], topic):
                yield name, [part.topic for part in parts]


def _words(target: str) -> tuple[str, str, str, str]:
    """Domain, tenant, namespace, and topic; the domain "" means both. Raises `UsageProblem`."""
    domain, _, path = target.rpartition("://")
    parts = path.split("/", 2)
    if domain not in ("", PERSISTENT, SCALABLE) or not all(parts):
        raise UsageProblem(
            f"cannot use '{target}': it names no persistent topics",
            hint="use TOPIC, TENANT/NAMESPACE, TENANT/*, or TENANT/NAMESPACE/*",
        )
    if len(parts) == 1:
        return domain, "public", "default", parts[0]
    return domain, parts[0], parts[1], parts[2] if len(parts) == 3 else "*"


def _namespaces(admin: "AdminClient", tenant: str, namespace: str) -> list[str]:
    if not _is_pattern(tenant + namespace):
        return [f"{tenant}/{namespace}"]
    tenants = (
        [candidate for candidate in admin.tenants.list() if fnmatchcase(candidate, tenant)]
        if _is_pattern(tenant)
        else [tenant]
    )
    known = [candidate for name in tenants for candidate in admin.namespaces.list(name)]
    return [candidate for candidate in known if fnmatchcase(candidate.rpartition("/")[2], namespace)]
