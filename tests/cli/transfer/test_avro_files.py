"""Avro files that others have written: their types, and what must not harm the process that reads them."""

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("pyarrow")

import fastavro

from pulsarctl.errors import CliError
from pulsarctl.transfer.imported_rows import import_source

CHAIN = {"type": "record", "name": "Chain", "fields": [{"name": "next", "type": ["null", "Chain"]}]}
READ = """
import sys
from pulsarctl.errors import CliError
from pulsarctl.transfer.imported_rows import import_source
source = import_source(sys.argv[1])
try:
    list(source.read(source.files[0], None))
except CliError as error:
    print(error.message)
"""


def of(**fields: Any) -> dict[str, Any]:
    named = [{"name": name, "type": kind} for name, kind in fields.items()]
    return {"type": "record", "name": "Row", "fields": named}


def written(file: Path, schema: dict[str, Any], rows: list[Any]) -> Path:
    with open(file, "wb") as out:
        fastavro.writer(out, schema, rows)
    return file


def rows(file: Path) -> list[dict[str, Any]]:
    return [row for batch in import_source(str(file)).read(file.name, None) for row in batch.to_pylist()]


def block(file: Path, schema: dict[str, Any], data: bytes) -> Path:
    """A file whose only block has this record."""
    written(file, schema, [])
    head = file.read_bytes()
    out = io.BytesIO()
    for number in (1, len(data)):
        fastavro.schemaless_writer(out, "long", number)
    file.write_bytes(head + out.getvalue() + data + head[-16:])
    return file


@pytest.mark.parametrize("depth", [10_000, 1_000_000])
def test_a_record_that_is_nested_too_deeply_is_an_error_of_the_file(tmp_path: Path, depth: int) -> None:
    file = block(tmp_path / "x.avro", of(value=CHAIN), b"\x02" * depth + b"\x00")
    done = subprocess.run(
        [sys.executable, "-c", READ, str(file)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"cannot import {file}: ")


def test_a_record_that_contains_itself_is_read(tmp_path: Path) -> None:
    file = written(tmp_path / "x.avro", of(value=CHAIN), [{"value": {"next": {"next": None}}}])
    assert [row["value"] for row in rows(file)] == [b'{"next":{"next":null}}']


def test_an_array_without_bytes_is_an_error_of_the_file(tmp_path: Path) -> None:
    schema = of(value={"type": "array", "items": "null"})
    file = block(tmp_path / "x.avro", schema, b"\x80\x80\x80\x80\x80\x80\x02\x00")
    with pytest.raises(CliError, match=r"cannot import .*x\.avro: cannot read arrays of a type without bytes"):
        rows(file)


def test_a_length_that_no_memory_has_is_an_error_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "x.avro"
    file.write_bytes(b"Obj\x01\x02\x02a" + b"\xfe" * 8 + b"\x0f")
    with pytest.raises(CliError, match=r"cannot import .*x\.avro: it needs more memory than there is"):
        rows(file)


def test_a_file_that_was_cut_off_is_an_error_that_says_so(tmp_path: Path) -> None:
    file = written(tmp_path / "x.avro", of(value="bytes"), [{"value": b"v" * 20}])
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(CliError, match=r"cannot import .*x\.avro: it ends too early"):
        rows(file)


def test_columns_of_other_types_become_those_of_messages(tmp_path: Path) -> None:
    schema = of(value="string", key="long", event_time="long", properties="string", partition="string")
    row = {"value": "v", "key": 7, "event_time": 1_500, "properties": '{"a": "b"}', "partition": "2"}
    (found,) = rows(written(tmp_path / "x.avro", schema, [row]))
    assert (found["value"], found["key"], found["properties"], found["partition"]) == (b"v", "7", [("a", "b")], 2)
    assert found["event_time"].timestamp() == 1.5


def test_a_column_that_does_not_fit_is_named(tmp_path: Path) -> None:
    file = written(tmp_path / "x.avro", of(value="string", event_time="double"), [{"value": "v", "event_time": 1.5}])
    with pytest.raises(CliError, match=r"cannot import .*x\.avro: column event_time has type double"):
        rows(file)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_file_is_rows_or_an_error_of_the_file(tmp_path: Path, data: st.DataObject) -> None:
    schema = of(value="bytes", key=["null", "string"], properties={"type": "map", "values": "string"})
    row = {"value": b"v" * 20, "key": "k", "properties": {"a": "b"}}
    codec = data.draw(st.sampled_from(["null", "deflate"]))
    out = io.BytesIO()
    fastavro.writer(out, schema, [row] * 3, codec=codec)
    damaged = bytearray(out.getvalue())
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    file = tmp_path / "x.avro"
    file.write_bytes(damaged[: data.draw(st.integers(1, len(damaged)))])
    try:
        rows(file)
    except CliError as error:
        assert str(file) in error.message
