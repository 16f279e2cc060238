"""The schemas of the admin REST API. Their paths have no domain, and partitions share the schema of their topic."""

from dataclasses import dataclass, field
from typing import Any

from pulsarctl.admin.http import AdminHttp
from pulsarctl.values.json_text import parse_json
from pulsarctl.values.names import is_scalable, scalable_path, topic_path

Document = dict[str, Any]
DEFINED_IN_JSON = ("AVRO", "JSON", "PROTOBUF", "PROTOBUF_NATIVE", "KEY_VALUE")


@dataclass(frozen=True, slots=True)
class SchemaInfo:
    """`definition` is an Avro schema, a JSON object for a key-value pair or protobuf, or empty."""

    type: str
    definition: str = ""
    properties: dict[str, str] = field(default_factory=dict)

    def body(self) -> Document:
        """The PostSchemaPayload of the REST API."""
        return {"type": self.type, "schema": self.definition, "properties": self.properties}


class Schemas:
    def __init__(self, http: AdminHttp) -> None:
        self._http = http

    def get(self, topic: str, version: int | None = None) -> Document:
        """The latest or the given version, as `SchemaInfoWithVersion`. Raises `NotFound`."""
        end = "schema" if version is None else f"schema/{version}"
        return with_version(topic, self._http.get(f"{_path(topic)}/{end}"))

    def all_versions(self, topic: str) -> list[Document]:
        """All versions, oldest first; empty for a topic without a schema."""
        document = self._http.get(f"{_path(topic)}/schemas") or {}
        return [with_version(topic, version) for version in document.get("getSchemaResponses", [])]

    def stored_versions(self, topic: str) -> list[SchemaInfo]:
        """All versions, oldest first, with their definitions exactly as stored."""
        document = self._http.get(f"{_path(topic)}/schemas") or {}
        versions = sorted(document.get("getSchemaResponses", []), key=lambda version: int(version.get("version") or 0))
        return [
            SchemaInfo(version["type"], version.get("data") or "", dict(version.get("properties") or {}))
            for version in versions
            if version.get("type") not in (None, "NONE")
        ]

    def upload(self, topic: str, schema: SchemaInfo) -> None:
        """Raises `Conflict` if the schema is not compatible with the existing versions."""
        self._http.post(f"{_path(topic)}/schema", schema.body())

    def delete(self, topic: str, *, force: bool = False) -> None:
        """Marks the schema as deleted; `force` deletes all versions."""
        self._http.delete(f"{_path(topic)}/schema", force=force)

    def compatibility(self, topic: str, schema: SchemaInfo) -> Document:
        """The strategy under which the schema is compatible. Raises `CliError` if it is not."""
        document = self._http.post(f"{_path(topic)}/compatibility", schema.body())
        return document if isinstance(document, dict) else {}

    def metadata(self, topic: str) -> Document:
        """The places where the versions are stored."""
        document = self._http.get(f"{_path(topic)}/metadata")
        return document if isinstance(document, dict) else {}


def _path(topic: str) -> str:
    path = scalable_path(topic) if is_scalable(topic) else topic_path(topic).partition("/")[2]
    return f"/admin/v2/schemas/{path}"


def with_version(topic: str, response: Document) -> Document:
    """The schema as pulsar-admin shows it, with a JSON definition as a JSON value."""
    kind, text = response.get("type", ""), response.get("data", "")
    info = {
        "name": topic.rpartition("/")[2],
        "schema": as_value(kind, text),
        "type": kind,
        "timestamp": response.get("timestamp", 0),
        "properties": dict(sorted((response.get("properties") or {}).items())),
    }
    return {"version": response.get("version"), "schemaInfo": info}


def as_value(kind: str, text: str) -> Any:
    """A definition as a JSON value; the text itself for a type that has no JSON."""
    if kind not in DEFINED_IN_JSON:
        return text
    try:
        return parse_json(text)
    except ValueError:
        return text
