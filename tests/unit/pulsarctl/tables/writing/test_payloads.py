"""Structs as payloads: what Arrow's type says, not what a value looks like."""

import io
import json
import time
from collections.abc import Iterator
from datetime import datetime

import pytest

pytest.importorskip("pyarrow")

import fastavro
import pyarrow as pa

from pulsarctl.tables.writing.payloads import payloads

KIND = pa.struct([("m", pa.map_(pa.string(), pa.map_(pa.string(), pa.int64()))), ("l", pa.list_(pa.int64()))])
MAPS = [
    ({"m": [], "l": []}, {"m": {}, "l": []}),
    ({"m": [("a", []), ("b", [("c", 1)])], "l": [1]}, {"m": {"a": {}, "b": {"c": 1}}, "l": [1]}),
    ({"m": None, "l": None}, {"m": None, "l": None}),
]


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The zone of another machine."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "America/New_York")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(("row", "value"), MAPS)
def test_an_empty_map_is_an_object(row: object, value: object) -> None:
    (data,) = payloads(KIND, "json").encode(pa.array([row], KIND))
    assert data is not None
    assert json.loads(data) == value


@pytest.mark.parametrize(("row", "value"), MAPS)
def test_an_empty_map_is_a_map_of_avro(row: object, value: object) -> None:
    found = payloads(KIND, "avro")
    (data,) = found.encode(pa.array([row], KIND))
    assert data is not None
    assert fastavro.schemaless_reader(io.BytesIO(data), found.definition, None) == value


@pytest.mark.usefixtures("elsewhere")
def test_a_time_without_a_zone_does_not_get_that_of_the_machine() -> None:
    kind = pa.struct([("at", pa.timestamp("us"))])
    (data,) = payloads(kind, "json").encode(pa.array([{"at": datetime(2023, 11, 14, 22, 13, 20, 123_000)}], kind))
    assert data == b'{"at":1700000000123000}'
