"""The names that complete a word: those of the cluster and of the contexts that the line itself names.

Topics in the default namespace have their short name, unless it would mean something else.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pulsarctl.settings.contexts import ContextFile, default_path
from pulsarctl.settings.settings import resolve
from pulsarctl.shell.completion import Position
from pulsarctl.values.names import SCALABLE, without_partition

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient

SECONDS = 2.0  # a broker that is slower than this completes nothing
DEFAULT = "public/default"
PERSISTENT = "persistent://"
_NOT_SETTINGS = ("color",)


class KnownNames:
    """`given`: shared options of a session, by field of `Settings`; those of the line override them."""

    def __init__(self, options: Mapping[str, Any], environ: Mapping[str, str]) -> None:
        self._options = options
        self._environ = environ

    def __call__(self, kind: str, beginning: str, line: Position) -> list[str]:
        """The names of a kind, up to the next slash. Raises `CliError`."""
        if kind == "CONTEXT":
            return ContextFile(default_path(self._environ)).names
        flags = {name: value for name, value in {**self._options, **line.options}.items() if name not in _NOT_SETTINGS}
        settings = resolve(flags, self._environ, Path.cwd())
        if settings.embedded is not None:  # a broker is not started for a key
            return []
        from pulsarctl.admin.client import AdminClient

        seconds = min(SECONDS, settings.request_timeout_seconds)
        admin = AdminClient(replace(settings, request_timeout_seconds=seconds, verbose=False, dry_run=False))
        try:
            return _names(admin, kind, beginning, line)
        finally:
            admin.close()


def _names(admin: "AdminClient", kind: str, beginning: str, line: Position) -> list[str]:
    match kind:
        case "TENANT":
            return admin.tenants.list()
        case "CLUSTER":
            return admin.clusters.list()
        case "BROKER":
            return admin.brokers.list()
        case "NAMESPACE":
            return _namespaces(admin, beginning, "")
        case "TOPIC":
            return _topics(admin, beginning, _topics_of)
        case "SCALABLE-TOPIC":
            return _topics(admin, beginning, _scalable_topics_of)
    return _subscriptions(admin, line.values)


def _subscriptions(admin: "AdminClient", values: Mapping[str, str]) -> list[str]:
    """The subscriptions of the topic on the command line."""
    scalable, topic = values.get("SCALABLE-TOPIC"), values.get("TOPIC")
    if scalable:
        return sorted(admin.scalable_topics.stats(scalable).get("subscriptions") or {})
    return admin.topics.subscriptions(topic) if topic else []


def _namespaces(admin: "AdminClient", beginning: str, end: str) -> list[str]:
    tenant, slash, _ = beginning.partition("/")
    if not slash:
        return [f"{name}/" for name in admin.tenants.list()]
    return [f"{name}{end}" for name in admin.namespaces.list(tenant)]


def _topics(
    admin: "AdminClient", beginning: str, topics_of: "Callable[[AdminClient, str, str], list[str]]"
) -> list[str]:
    """`topics_of`: the topics of a namespace and a domain, without the domain."""
    domain, separator, name = beginning.rpartition("://")
    parts = name.split("/")
    if len(parts) > 2:
        names = topics_of(admin, "/".join(parts[:2]), domain)
    else:
        names = _namespaces(admin, name, "/")
        if len(parts) == 1 and not separator:
            short = (topic.removeprefix(f"{DEFAULT}/") for topic in topics_of(admin, DEFAULT, domain))
            names = [topic for topic in short if "/" not in topic] + names
    return [f"{domain}{separator}{topic}" for topic in names]


def _topics_of(admin: "AdminClient", namespace: str, domain: str) -> list[str]:
    """Each partitioned topic once; scalable ones for their domain."""
    if domain == SCALABLE:
        return _scalable_topics_of(admin, namespace, domain)
    listed = admin.topics.list(namespace, domain=domain or "persistent")
    return list(dict.fromkeys(without_partition(name).partition("://")[2] for name in listed))


def _scalable_topics_of(admin: "AdminClient", namespace: str, domain: str) -> list[str]:
    listed = admin.scalable_topics.list(namespace) if domain in ("", SCALABLE) else []
    return [name.partition("://")[2] for name in listed]
