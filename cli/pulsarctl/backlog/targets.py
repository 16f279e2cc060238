"""What a report covers: a topic, a namespace, or a pattern such as `shop/eu/orders-*` or `shop/*` -> partitions."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from pulsarctl.errors import NotFound, UsageProblem
from pulsarctl.values.names import full_topic, without_partition

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient

_WILDCARDS = "*?["


def partitions(admin: "AdminClient", target: str) -> list[str]:
    """Full names of partitions, and of topics without partitions; no system topics unless one is named.

    Raises `NotFound` for a name that does not exist and for a pattern that matches nothing.
    """
    if not _is_pattern(target) and target.count("/") != 1:
        return admin.topics.parts(full_topic(target))
    found = list(_matching(admin, *_segments(target)))
    if not found and _is_pattern(target):
        raise NotFound(f"no persistent topic matches '{target}'")
    return found


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
    for each in _namespaces(admin, tenant, namespace):
        for name in admin.topics.list(each, domain="persistent"):
            local = name.rpartition("/")[2]
            if not local.startswith("__") and fnmatchcase(without_partition(local), topic):
                yield name


def _namespaces(admin: "AdminClient", tenant: str, namespace: str) -> list[str]:
    if not _is_pattern(tenant + namespace):
        return [f"{tenant}/{namespace}"]
    tenants = [each for each in admin.tenants.list() if fnmatchcase(each, tenant)] if _is_pattern(tenant) else [tenant]
    known = [each for name in tenants for each in admin.namespaces.list(name)]
    return [each for each in known if fnmatchcase(each.rpartition("/")[2], namespace)]
