"""Schemas on the command line: a description in a file, a definition, or a Python class."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

from pulsarctl.admin.schemas import SchemaInfo
from pulsarctl.errors import UsageProblem
from pulsarctl.values.choice import one_of
from pulsarctl.values.text_files import read_document, read_text

TYPES = (
    *("NONE", "STRING", "JSON", "PROTOBUF", "AVRO", "BOOLEAN", "INT8", "INT16", "INT32", "INT64", "FLOAT", "DOUBLE"),
    *("DATE", "TIME", "TIMESTAMP", "KEY_VALUE", "INSTANT", "LOCAL_DATE", "LOCAL_TIME", "LOCAL_DATE_TIME"),
    *("PROTOBUF_NATIVE", "EXTERNAL", "BYTES"),
)
AVRO_DEFINITIONS = ("record", "enum", "array", "map", "fixed")
EXAMPLE = '{"type": "AVRO", "schema": "{...}", "properties": {}}'


def from_description(path: Path) -> SchemaInfo:
    """pulsar-admin's file: JSON or YAML with `type`, `schema` and `properties`. Raises `UsageProblem`."""
    description = _load(path)
    if not isinstance(description, dict) or "type" not in description:
        raise UsageProblem(f"cannot use {path}: it does not describe a schema", hint=f"use {EXAMPLE}")
    if "schema" not in description and description["type"] in AVRO_DEFINITIONS:
        raise UsageProblem(
            f"cannot use {path}: it is a definition without a type",
            hint=f"use --type avro --schema-file {path}, or --type json",
        )
    definition = description.get("schema") or ""
    text = definition if isinstance(definition, str) else json.dumps(definition)
    properties = {str(key): str(value) for key, value in (description.get("properties") or {}).items()}
    return SchemaInfo(_type(str(description["type"])), text, properties)


def from_definition(kind: str, path: Path | None, properties: dict[str, str]) -> SchemaInfo:
    """A type, and the file with its definition if it is not a primitive type."""
    return SchemaInfo(_type(kind), read_text(path) if path else "", properties)


def from_class(name: str, kind: str) -> SchemaInfo:
    """A class of the official Python client's `pulsar.schema.Record`, as `module:Class`. Raises `UsageProblem`."""
    module, _, attribute = name.partition(":")
    sys.path.insert(0, "")  # finds modules in the working directory, like `python -m`
    try:
        record: Any = getattr(importlib.import_module(module), attribute)
        definition = record.schema()
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageProblem(f"cannot use {name} as a record class: {error}", hint="use MODULE:CLASS") from error
    finally:
        sys.path.remove("")
    return SchemaInfo(_type(kind), json.dumps(definition))


def _load(path: Path) -> Any:
    try:
        return read_document(path)
    except UsageProblem as problem:
        problem.hint = f"use {EXAMPLE}"
        raise


def _type(kind: str) -> str:
    return one_of(kind, TYPES, "schema type")
