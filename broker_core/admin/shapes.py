"""The JSON Schema of the bodies of requests. Pure.

`of` derives the shape of a policy from its type, so that the document cannot differ from what is read. Shapes describe
what tools should send; handlers also accept what tools send in other spellings.
"""

from __future__ import annotations

import dataclasses
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from broker_core.metadata.policies.topic_policies import TopicPolicies
from broker_core.metadata.policies.values import PolicyObject

Shape = dict[str, Any]

ANY: Shape = {}
TRUTH: Shape = {"type": "boolean"}
STRING: Shape = {"type": "string"}
INT32: Shape = {"type": "integer", "format": "int32"}
INT64: Shape = {"type": "integer", "format": "int64"}
NUMBER: Shape = {"type": "number"}
STRINGS: Shape = {"type": "array", "items": STRING}
PROPERTIES: Shape = {"type": "object", "additionalProperties": STRING}
ANY_OBJECT: Shape = {"type": "object"}


def obj(**members: Shape) -> Shape:
    """An object with these members, none of them required."""
    return {"type": "object", "properties": members}


def one_of(*values: str) -> Shape:
    return {"type": "string", "enum": list(values)}


def array(items: Shape) -> Shape:
    return {"type": "array", "items": items}


def either(*shapes: Shape) -> Shape:
    return {"anyOf": list(shapes)}


POSITION = obj(ledgerId=INT64, entryId=INT64, partitionIndex=INT32)
RESET_DATA = either(
    one_of("earliest", "latest"),
    obj(ledgerId=INT64, entryId=INT64, partitionIndex=INT32, batchIndex=INT32, excluded=TRUTH, properties=PROPERTIES),
)
SCHEMA_PAYLOAD = obj(type=STRING, schema=STRING, properties=PROPERTIES)
TENANT = obj(adminRoles=STRINGS, allowedClusters=STRINGS)
PARTITIONS = either(INT32, obj(partitions=INT32, properties=PROPERTIES))
ACTIONS = array(one_of("produce", "consume", "functions", "sources", "sinks", "packages"))


def of_policy(field: str) -> Shape:
    """The shape of a field of `TopicPolicies`."""
    return shape_of(get_type_hints(TopicPolicies)[field])


def shape_of(kind: Any) -> Shape:
    """The shape of a type that policies consist of; None is left out, because null always removes a policy."""
    simple = {int: INT64, bool: TRUTH, str: STRING, float: NUMBER}
    if kind in simple:
        return simple[kind]
    if dataclasses.is_dataclass(kind) and isinstance(kind, type) and issubclass(kind, PolicyObject):
        hints = get_type_hints(kind)
        members = {
            field.metadata["json"]: shape_of(hints[field.name]) for field in dataclasses.fields(kind) if field.metadata
        }
        return obj(**members)
    arguments = [inner for inner in get_args(kind) if inner not in (NoneType, Ellipsis)]
    if get_origin(kind) is tuple:
        return array(shape_of(arguments[0]))
    if len(arguments) == 1:
        return shape_of(arguments[0])
    return ANY_OBJECT
