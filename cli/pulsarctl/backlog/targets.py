"""The target of a report: a topic, a namespace, or a pattern such as `shop/eu/orders-*` or `shop/*` -> partitions."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from pulsarctl.admin.parts import part_names
from pulsarctl.errors import NotFound, UsageProblem
from pulsarctl.values.names import readable_topic, without_partition

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient

_WILDCARDS = "*?["


def partitions(admin: "AdminClient", target: str) -> list[str]:
    """Full names of partitions, and of topics without partitions; no system topics unless one is named.

    Raises `NotFound` for a name that does not exist and for a pattern that matches nothing.
    """
    if not _is_pattern(target) and target.count("/") != 1:
        return part_names(admin, readable_topic(target))
    matches = list(_matching(admin, *_segments(target)))
    if not matches and _is_pattern(target):
        raise NotFound(f"no persistent topic matches '{target}'")
    return matches


def _is_pattern(target: str) -> bool:
    return any(character in target for character in _WILDCARDS)


def _segments(target: str) -> tuple[str, str, str]:
    """Tenant, namespace, and topic. Raises `UsageProblem`."""
    parts = target.removeprefix("persistent://").split("/", 2)
    if "://" in parts[0] + "/" or not all(parts):
        raise UsageProblem(
            f"cannot use '{target}': it names no persistent topics",
            hint="use TOPIC, TENANT/NAMESPACE, TENANT/*, or TENANT/NAMESPACE/*",
        )
    if len(parts) == 1:
        return "public", "default", parts[0]
    return parts[0], parts[1], parts[2] if len(parts) == 3 else "*"


def _matching(admin: "AdminClient", tenant: str, namespace: str, topic: str) -> Iterator[str]:
    for full_namespace in _namespaces(admin, tenant, namespace):
        for name in admin.topics.list(full_namespace, domain="persistent"):
            local = name.rpartition("/")[2]
            if not local.startswith("__") and fnmatchcase(without_partition(local), topic):
                yield name


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
