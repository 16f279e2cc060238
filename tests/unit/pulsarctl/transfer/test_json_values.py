"""Decoded values in JSON lines are JSON that any tool reads, and `ops import` as well."""

import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa

from pulsarctl.transfer.file_formats import FileFormat, WholeFile
from pulsarctl.transfer.imported_rows import import_source
from pulsarctl.transfer.places import Directory
from pulsarctl.transfer.portable import TYPES

MAP = pa.map_(pa.string(), pa.float64())
TIME = datetime(2026, 1, 2, 3, 4, 5, 678_901, UTC)
VALUES = [
    (pa.struct([("m", MAP)]), {"m": [("a", 1.5), ("b", math.nan)]}, {"m": {"a": 1.5, "b": "NaN"}}),
    (pa.struct([("m", MAP)]), {"m": []}, {"m": {}}),
    (pa.list_(pa.map_(pa.int64(), pa.struct([("x", MAP)]))), [[(7, {"x": [("k", 0.0)]})]], [{"7": {"x": {"k": 0.0}}}]),
    (pa.struct([("l", pa.list_(pa.float32()))]), {"l": [math.inf, -math.inf]}, {"l": ["Infinity", "-Infinity"]}),
    (pa.float64(), math.nan, "NaN"),
    (pa.struct([("t", pa.timestamp("us", "UTC"))]), {"t": TIME}, {"t": "2026-01-02T03:04:05.678901+00:00"}),
    (pa.struct([("d", pa.date32())]), {"d": date(1, 1, 1)}, {"d": "0001-01-01"}),
    (pa.struct([("b", pa.binary())]), {"b": b"\xff"}, {"b": "\xff"}),
    (pa.struct([("p", pa.decimal128(38, 2))]), {"p": Decimal("1.10")}, {"p": "1.10"}),
    (pa.string(), "text", "text"),
]  # fmt: skip


def strict(text: str) -> Any:
    """As JSON's specification has it: Python also reads NaN."""

    def refuse(word: str) -> None:
        raise AssertionError(word)

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize(("kind", "value", "wanted"), VALUES, ids=lambda found: str(found)[:30])
def test_a_typed_value_is_valid_json_that_is_imported_again(
    tmp_path: Path, kind: pa.DataType, value: Any, wanted: Any
) -> None:
    row = {"key": "k", "value": value, "publish_time": TIME, "raw_value": None, "decode_error": None}
    schema = pa.schema([*(TYPES | {"value": kind}).items(), ("raw_value", pa.binary()), ("decode_error", pa.string())])
    batch = pa.RecordBatch.from_pylist([dict.fromkeys(schema.names) | row], schema)
    file = WholeFile(Directory(tmp_path), "x.jsonl", FileFormat.JSONL, schema)
    file.write(batch)
    file.finish()
    assert strict((tmp_path / "x.jsonl").read_text())["value"] == wanted
    (found,) = import_source(str(tmp_path / "x.jsonl")).read("x.jsonl", None)
    (payload,) = found.column("value").to_pylist()
    assert payload.decode() == wanted if isinstance(wanted, str) else strict(payload.decode()) == wanted
