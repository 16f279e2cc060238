"""The scalable topics of the admin REST API, which Pulsar has since 5.0."""

from typing import Any

from pulsarctl.admin.http import AdminHttp
from pulsarctl.errors import NotFound
from pulsarctl.values.names import namespace_path, scalable_path, segment

ROOT = "/admin/v2/scalable"
Document = dict[str, Any]
Names = list[str]  # in a class with a method `list`, the name of the builtin is taken


class ScalableTopics:
    def __init__(self, http: AdminHttp) -> None:
        self._http = http

    def list(self, namespace: str) -> Names:
        return sorted(self._http.get(f"{ROOT}/{namespace_path(namespace)}") or [])

    def list_any(self, namespace: str) -> Names:
        """As `list`, but none on a broker without scalable topics."""
        try:
            return self.list(namespace)
        except NotFound:
            return []

    def create(self, topic: str, segments: int, properties: dict[str, str]) -> None:
        self._http.put(f"{ROOT}/{scalable_path(topic)}", properties or None, numInitialSegments=segments)

    def delete(self, topic: str) -> None:
        """Raises `Conflict` if it is in use."""
        self._http.delete(f"{ROOT}/{scalable_path(topic)}", force=False)

    def metadata(self, topic: str) -> Document:
        """The epoch, the segments by ID, the properties, and the auto-scale policy. Raises `NotFound`."""
        return dict(self._http.get(f"{ROOT}/{scalable_path(topic)}"))

    def stats(self, topic: str) -> Document:
        return dict(self._http.get(f"{ROOT}/{scalable_path(topic)}/stats"))

    def delete_subscription(self, topic: str, subscription: str) -> None:
        """Also while it has consumers."""
        self._http.delete(f"{ROOT}/{scalable_path(topic)}/subscriptions/{segment(subscription)}")

    def seek(self, topic: str, subscription: str, timestamp_ms: int) -> None:
        path = f"{ROOT}/{scalable_path(topic)}/subscriptions/{segment(subscription)}/seek"  # decoded once
        self._http.post(path, timestamp=timestamp_ms)
