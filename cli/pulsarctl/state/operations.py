"""A change of an object as requests. Each is one step with a name, so that a failure says what failed."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from pulsarctl.admin.client import ROOT, AdminClient
from pulsarctl.admin.schemas import DEFINED_IN_JSON, SchemaInfo
from pulsarctl.state import scalable, settings
from pulsarctl.state.live import Document
from pulsarctl.state.plan import Change, Part
from pulsarctl.values.message_ids import EARLIEST, LATEST
from pulsarctl.values.names import namespace_path, segment, subscription_segment, topic_path


class Step(NamedTuple):
    """`part` is empty for the object itself. Without the object, no later step makes sense."""

    part: str
    run: Callable[[AdminClient], Any]


def steps(change: Change, cluster: str) -> Iterator[Step]:
    """The steps of a change, in the order in which they must run. `cluster` is the broker's own."""
    match change.kind:
        case "cluster":
            return _cluster(change)
        case "tenant":
            return _tenant(change, cluster)
        case "namespace":
            return _namespace(change, cluster)
        case scalable.KIND:
            return _scalable_topic(change, cluster)
    return _topic(change, cluster)


def _cluster(change: Change) -> Iterator[Step]:
    path = f"{ROOT}/clusters/{segment(change.name)}"
    if change.action == "delete":
        yield Step("", lambda admin: admin.clusters.delete(change.name))
    elif change.action == "create":
        body = {part.path[0]: part.new for part in change.parts}
        yield Step("", lambda admin: admin.http.put(path, body))
    else:
        yield Step("", lambda admin: admin.http.post(path, _merged(admin.http.get(path), change)))


def _merged(document: Document, change: Change) -> Document:
    """Pulsar replaces the whole document of a cluster or a tenant."""
    changed = dict(document)
    for part in change.parts:
        if part.new is None:
            changed.pop(part.path[0], None)
        else:
            changed[part.path[0]] = part.new
    return changed


def _tenant(change: Change, cluster: str) -> Iterator[Step]:
    if change.action == "delete":
        yield Step("", lambda admin: admin.tenants.delete(change.name))
        return
    own = {"adminRoles": [], "allowedClusters": [cluster] if cluster else []}

    def write(admin: AdminClient) -> None:
        is_new = change.action == "create"
        document = own | _merged(own if is_new else admin.tenants.get(change.name), change)
        act = admin.tenants.create if is_new else admin.tenants.update
        act(change.name, document["adminRoles"], document["allowedClusters"] or own["allowedClusters"])

    yield Step("", write)


def _namespace(change: Change, cluster: str) -> Iterator[Step]:
    if change.action == "delete":
        yield Step("", lambda admin: admin.namespaces.delete(change.name))
        return
    base = f"{ROOT}/namespaces/{namespace_path(change.name)}"
    if change.action == "create":
        bundles = change.part("bundles")
        body = {"bundles": {"numBundles": bundles.new}} if bundles else None
        yield Step("", lambda admin: admin.namespaces.create(change.name, body))
    yield from _policies(change, base, settings.NAMESPACE, cluster)
    yield from _properties(change, base, lambda admin, key: admin.http.delete(f"{base}/property/{segment(key)}"))
    yield from _permissions(change, base)
    for part in change.under("subscription-permissions"):
        yield Step(".".join(part.path), partial(_share, base=base, part=part))


def _topic(change: Change, cluster: str) -> Iterator[Step]:
    name, base = change.name, f"{ROOT}/{topic_path(change.name)}"
    partitions = change.part("partitions")
    if change.action == "delete":
        yield Step("", lambda admin: _delete_topic(admin, name))
        return
    if change.action == "create":
        yield Step("", lambda admin: _create_topic(admin, change, partitions.new if partitions else 0))
    elif partitions is not None:
        yield Step("partitions", lambda admin: admin.topics.update_partitioned(name, partitions.new))
    gone = [part for part in change.under("subscriptions") if part.new is None]
    for part in gone:  # first, since a policy may limit their number
        yield Step(".".join(part.path), partial(_unsubscribe, topic=name, subscription=part.path[1]))
    yield from _policies(change, base, settings.TOPIC, cluster)
    if change.action != "create":
        yield from _properties(change, base, lambda admin, key: admin.topics.remove_properties(name, key))
    yield from _permissions(change, base)
    schema = change.part("schema")
    if schema is not None:
        yield Step("schema", partial(_set_schema, topic=name, declared=schema.new))
    for part in change.under("subscriptions"):
        if part not in gone:
            yield Step(".".join(part.path), partial(_subscribe, topic=name, part=part))


def _scalable_topic(change: Change, cluster: str) -> Iterator[Step]:
    if change.action == "delete":
        yield Step("", lambda admin: admin.scalable_topics.delete(change.name))
        return
    if change.action == "create":
        segments = change.part(scalable.SEGMENTS)
        properties = {part.path[1]: part.new for part in change.under("properties")}
        number = segments.new if segments else 1
        yield Step("", lambda admin: admin.scalable_topics.create(change.name, number, properties))
    yield from _policies(change, scalable.base(change.name), scalable.POLICIES, cluster)


def _create_topic(admin: AdminClient, change: Change, partitions: int) -> None:
    properties = {part.path[1]: part.new for part in change.under("properties")}
    if partitions:
        admin.topics.create_partitioned(change.name, partitions, properties)
    else:
        admin.topics.create(change.name, properties or None)


def _delete_topic(admin: AdminClient, topic: str) -> None:
    if admin.topics.partitions(topic):
        admin.topics.delete_partitioned(topic)
    else:
        admin.topics.delete(topic)


def _policies(change: Change, base: str, table: dict[str, settings.Setting], cluster: str) -> Iterator[Step]:
    for part in change.under("policies"):
        for request in table[part.path[1]].changes(part.old, part.new, cluster):
            yield Step(".".join(part.path), partial(_send, base=base, request=request))


def _send(admin: AdminClient, *, base: str, request: settings.Request) -> None:
    admin.http.request(request.method, f"{base}/{request.path}", body=request.body, query=request.query)


def _properties(change: Change, base: str, remove: Callable[[AdminClient, str], Any]) -> Iterator[Step]:
    parts = change.under("properties")
    changed = {part.path[1]: part.new for part in parts if part.new is not None}
    for part in parts:
        if part.new is None:
            yield Step(".".join(part.path), partial(lambda admin, key: remove(admin, key), key=part.path[1]))
    if changed:
        yield Step("properties", lambda admin: admin.http.put(f"{base}/properties", changed))


def _permissions(change: Change, base: str) -> Iterator[Step]:
    for part in change.under("permissions"):
        path = f"{base}/permissions/{segment(part.path[1])}"
        method = "DELETE" if part.new is None else "POST"
        yield Step(".".join(part.path), partial(_send_to, method=method, path=path, body=part.new))


def _send_to(admin: AdminClient, *, method: str, path: str, body: Any) -> None:
    admin.http.request(method, path, body=body)


def _share(admin: AdminClient, *, base: str, part: Part) -> None:
    """Pulsar adds roles and revokes them one by one."""
    subscription, new, old = part.path[1], part.new or [], part.old or []
    if new:
        admin.http.post(f"{base}/permissions/subscription/{subscription_segment(subscription)}", new)
    for role in set(old) - set(new):
        admin.http.delete(f"{base}/permissions/{subscription_segment(subscription)}/{segment(role)}")


def _set_schema(admin: AdminClient, *, topic: str, declared: Document | None) -> None:
    if declared is None:
        admin.schemas.delete(topic)
        return
    kind, definition = declared["type"], declared.get("schema", "")
    is_text = isinstance(definition, str) and not (kind in DEFINED_IN_JSON and definition.isidentifier())
    text = definition if is_text else json.dumps(definition)  # `int` in YAML is "int" in JSON
    admin.schemas.upload(topic, SchemaInfo(kind, text, declared.get("properties", {})))


def _subscribe(admin: AdminClient, *, topic: str, part: Part) -> None:
    if len(part.path) > 2:  # only the properties differ
        admin.topics.update_subscription_properties(topic, part.path[1], part.new)
        return
    position = EARLIEST if part.new.get("position") == "earliest" else LATEST
    properties = part.new.get("properties")
    admin.topics.create_subscription(topic, part.path[1], position, properties=properties)


def _unsubscribe(admin: AdminClient, *, topic: str, subscription: str) -> None:
    admin.topics.delete_subscription(topic, subscription)
