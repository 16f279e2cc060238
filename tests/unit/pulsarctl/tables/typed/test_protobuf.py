"""Messages of Protobuf: what a column of a table has of them, and what `read --schema auto` prints."""

import base64
import math
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
from google.protobuf import any_pb2, struct_pb2, text_format, timestamp_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from pulsarctl.errors import DoesNotFit
from pulsarctl.records.schema_decoding import decoder_of
from pulsarctl.tables.typed.shapes import shape_of


class Schema:
    """A file of the package `p`, whose root message is M. `kinds` describe it in the text format of descriptors."""

    def __init__(self, kinds: str, *imports: ModuleType, syntax: str = "proto3") -> None:
        needed = [FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb) for module in imports]
        file = FileDescriptorProto(name="m.proto", package="p", syntax=syntax, dependency=[one.name for one in needed])
        text_format.Merge(kinds, file)
        self._pool = DescriptorPool()
        for one in (*needed, file):
            self._pool.Add(one)
        files = FileDescriptorSet(file=[*needed, file]).SerializeToString()
        definition = {"fileDescriptorSet": base64.b64encode(files).decode(), "rootMessageTypeName": "p.M"}
        self.info = {"type": "PROTOBUF_NATIVE", "schema": definition, "properties": {}}

    def message(self) -> Message:
        return GetMessageClass(self._pool.FindMessageTypeByName("p.M"))()

    def in_table(self, data: bytes) -> Any:
        shape = shape_of(self.info)
        return pa.array([shape.decode(data)], shape.arrow).to_pylist()[0]

    def printed(self, data: bytes) -> Any:
        decode = decoder_of(self.info)
        assert decode is not None
        return decode(data)


def field(name: str, number: int, kind: str, label: str = "OPTIONAL") -> str:
    own = f'type:TYPE_MESSAGE type_name:".{kind}"' if kind.islower() or "." in kind else f"type:TYPE_{kind}"
    return f'field{{name:"{name}" number:{number} {own} label:LABEL_{label}}} '


def of_field(kind: str, *imports: ModuleType) -> Schema:
    return Schema(f'message_type{{name:"M" {field("f", 1, kind)}}}', *imports)


@pytest.mark.parametrize("label", ["OPTIONAL", "REPEATED"])
def test_text_that_is_not_utf8_is_read_as_java_reads_it(label: str) -> None:
    schema = Schema(f'message_type{{name:"M" {field("s", 1, "STRING", label)}}}', syntax="proto2")
    assert schema.in_table(b"\n\1\xff") == {"s": "\ufffd" if label == "OPTIONAL" else ["\ufffd"]}


def test_of_two_names_of_a_number_the_first_is_shown() -> None:
    values = "".join(f'value{{name:"{name}" number:{number}}} ' for name, number in (("A", 0), ("B", 1), ("C", 1)))
    kind = f'enum_type{{name:"E" options{{allow_alias:true}} {values}}} '
    schema = Schema(
        kind + 'message_type{name:"M" field{name:"e" number:1 type:TYPE_ENUM type_name:".p.E" label:LABEL_OPTIONAL}}'
    )
    assert schema.in_table(b"\x08\1") == schema.printed(b"\x08\1") == {"e": "B"}
    assert schema.in_table(b"\x08\7") == {"e": "7"}


def test_a_message_without_fields_is_json_text() -> None:
    """Parquet has no such column."""
    schema = Schema(f'message_type{{name:"Z"}} message_type{{name:"M" {field("z", 1, "p.Z")}}}')
    assert schema.in_table(b"\n\0") == {"z": "{}"}
    assert schema.in_table(b"") == {"z": None}


def test_a_number_that_json_does_not_have_is_refused() -> None:
    schema = of_field("google.protobuf.Value", struct_pb2)
    message: Any = schema.message()
    message.f.number_value = math.nan
    for decode in (schema.in_table, schema.printed):
        with pytest.raises(DoesNotFit, match=r"cannot show a p\.M"):
            decode(message.SerializeToString())


def test_a_time_in_no_year_is_refused_where_it_is_printed() -> None:
    schema = of_field("google.protobuf.Timestamp", timestamp_pb2)
    message: Any = schema.message()
    message.f.seconds = 1 << 60
    with pytest.raises(DoesNotFit, match=r"cannot show a p\.M"):
        schema.printed(message.SerializeToString())
    assert schema.in_table(message.SerializeToString()) == {"f": {"seconds": 1 << 60, "nanos": 0}}


def test_any_of_a_type_of_the_schema_is_shown_and_others_are_refused() -> None:
    kinds = field("any", 1, "google.protobuf.Any") + field("own", 2, "p.M") + field("n", 3, "INT32")
    schema = Schema(f'message_type{{name:"M" {kinds}}}', any_pb2)
    message: Any = schema.message()
    message.any.type_url, message.any.value = "type.googleapis.com/p.M", b"\x18\5"
    assert schema.printed(message.SerializeToString()) == {"any": {"@type": "type.googleapis.com/p.M", "n": 5}}
    message.any.type_url = "type.googleapis.com/no.Such"
    for decode in (schema.in_table, schema.printed):
        with pytest.raises(DoesNotFit, match=r"cannot show a p\.M"):
            decode(message.SerializeToString())


def chain(length: int, width: int) -> Schema:
    """Messages each of which contains the next one `width` times. The last has a number."""
    names = ["M", *(f"M{level}" for level in range(1, length)), ""]
    kinds = [
        f'message_type{{name:"{name}" '
        + "".join(field(f"f{number}", number, f"p.{below}" if below else "INT32") for number in range(1, width + 1))
        + "} "
        for name, below in pairwise(names)
    ]
    return Schema("".join(kinds))


@pytest.mark.parametrize("decoder", [decoder_of, shape_of])
def test_messages_that_are_nested_too_deeply_are_refused(decoder: Any) -> None:
    with pytest.raises(DoesNotFit, match="nested too deeply"):
        decoder(chain(1_000, 1).info)


def test_a_type_whose_fields_double_at_each_level_is_refused() -> None:
    with pytest.raises(DoesNotFit, match="more than 5000 fields"):
        shape_of(chain(40, 2).info)


@pytest.mark.parametrize("decoder", [decoder_of, shape_of])
@pytest.mark.parametrize("definition", ["", {"key": ""}, None])
def test_pairs_without_a_definition_of_both_parts_are_refused(decoder: Any, definition: Any) -> None:
    with pytest.raises(DoesNotFit, match=r"the schema of its pairs describes no (key|value)"):
        decoder({"type": "KEY_VALUE", "schema": definition, "properties": {}})
