"""`--schema` of `produce`: the schema of the producer, and the encoding of messages.

`bytes` means no schema, and `string` is text. `avro:DEFINITION` takes JSON and sends Avro, and `json:DEFINITION`
checks JSON and sends it unchanged. The definition is an Avro schema or the name of a file. `auto` is the schema of the
topic.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulsarctl.admin.schemas import SchemaInfo
from pulsarctl.errors import CliError, DoesNotFit, NotFound, UsageProblem
from pulsarctl.values.json_text import parse_json

Encode = Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class ValueSchema:
    """`announced` None: no schema. `encode` None: messages are sent unchanged. `encode` raises `DoesNotFit`."""

    announced: SchemaInfo | None = None
    encode: Encode | None = None
    notice: str = ""


def parse_value_schema(text: str, of_topic: Callable[[], dict[str, Any]]) -> ValueSchema:
    """`of_topic` fetches the schema of the topic for `auto`, like `Schemas.get`. Raises `UsageProblem`."""
    kind, _, definition = text.partition(":")
    match kind.lower():
        case "bytes":
            return ValueSchema()
        case "string":
            return ValueSchema(SchemaInfo("STRING"), _text)
        case "avro" | "json" if definition:
            return _structured(kind.upper(), _definition(definition))
        case "auto":
            return _automatic(of_topic)
    raise UsageProblem(
        f"unknown schema '{text}'", hint="use bytes, string, auto, avro:DEFINITION, or json:DEFINITION (JSON or a file)"
    )


def _definition(text: str) -> Any:
    written = text.lstrip().startswith(("{", "[", '"'))
    try:
        return parse_json(text if written else Path(text).read_text(encoding="utf-8"))
    except OSError as error:
        raise CliError(f"cannot read {text}: {error.strerror}") from error
    except ValueError as error:
        raise UsageProblem(f"the schema definition is not JSON ({error})") from error


def _structured(kind: str, definition: Any) -> ValueSchema:
    from pulsarctl.schemas.avro_json import AvroCodec

    codec = AvroCodec(definition, as_json=kind == "JSON")
    return ValueSchema(SchemaInfo(kind, json.dumps(definition)), codec.encode if kind == "AVRO" else codec.checked)


def _automatic(of_topic: Callable[[], dict[str, Any]]) -> ValueSchema:
    try:
        schema = of_topic()
    except NotFound:
        return ValueSchema(notice="the topic has no schema; sending messages as bytes")
    info, version = schema["schemaInfo"], schema["version"]
    kind = info["type"]
    if kind in ("AVRO", "JSON"):
        made = _structured(kind, info["schema"])
    elif kind in ("STRING", "NONE", "BYTES"):
        made = parse_value_schema("string" if kind == "STRING" else "bytes", of_topic)
    else:
        raise UsageProblem(f"cannot encode messages of schema type {kind}", hint="use --schema bytes")
    return ValueSchema(made.announced, made.encode, f"sending messages as {kind}, with version {version} of the schema")


def _text(data: bytes) -> bytes:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise DoesNotFit(f"it is not UTF-8: {error.reason}") from error
    return data
