"""Files that no export has written: what they may have, and what is reported where."""

import json
from pathlib import Path
from typing import Any

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from pulsarctl.errors import CliError
from tests.cli.transfer.moved_topics import by_key
from tests.support.runner import Cli

pytest.importorskip("pyarrow")

import pyarrow as pa

from pulsarctl.transfer.imported_rows import import_source
from pulsarctl.transfer.portable import from_text
from pulsarctl.transfer.row_blocks import ROWS_AT_ONCE

EVENT_MS = 1_767_225_600_123


def rows(file: Path) -> list[dict[str, Any]]:
    return [row for batch in import_source(str(file)).read(file.name, None) for row in batch.to_pylist()]


def problem(file: Path) -> CliError:
    with pytest.raises(CliError) as caught:
        rows(file)
    assert caught.value.message.startswith(("cannot read ", "cannot import "))
    assert str(file) in caught.value.message
    return caught.value


def parquet(file: Path, columns: dict[str, Any]) -> Path:
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), file)
    return file


def lines(file: Path, found: list[str]) -> Path:
    file.write_text("".join(f"{line}\n" for line in found))
    return file


GOOD = '{"value": "a"}'


def test_a_line_without_a_value_is_refused(tmp_path: Path) -> None:
    found = problem(lines(tmp_path / "x.jsonl", [GOOD, '{"key": "k", "payload": 1}']))
    assert "line 2: it has neither value nor value_base64" in found.message


def test_a_byte_order_mark_does_not_make_numbers_of_the_keys_in_csv(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_bytes(b"\xef\xbb\xbfkey,value\n007,a\n")
    assert [(row["key"], row["value"]) for row in rows(file)] == [("007", b"a")]


def test_two_columns_of_one_name_in_csv_are_refused(tmp_path: Path) -> None:
    assert "several columns value" in problem(lines(tmp_path / "x.csv", ["value,value", "a,b"])).message


def test_lines_of_csv_that_end_with_carriage_returns_alone_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_bytes(b"key,value\rk,a\r")
    assert "line 1: new-line character" in problem(file).message


def test_a_line_whose_value_is_null_is_a_tombstone(tmp_path: Path) -> None:
    file = lines(tmp_path / "x.jsonl", ['{"key": "k", "value": null}', '{"value_base64": "/w=="}'])
    assert [row["value"] for row in rows(file)] == [None, b"\xff"]


def test_a_table_of_text_without_a_value_is_refused(tmp_path: Path) -> None:
    assert "it has neither value nor value_base64" in problem(lines(tmp_path / "x.csv", ["key,body", "a,1"])).message


@pytest.mark.parametrize(
    ("line", "reason"),
    [("{,}", "column 2: Expecting"), ("[1]", ": it is not a JSON object"), ("{}", ": it has neither value")],
)
def test_an_unreadable_line_is_named(tmp_path: Path, line: str, reason: str) -> None:
    for before, sent in ((3000, "no row of this file was sent"), (ROWS_AT_ONCE + 7, f"up to {ROWS_AT_ONCE:,} rows")):
        found = problem(lines(tmp_path / "x.jsonl", [*[GOOD] * before, line, GOOD]))
        assert f"line {before + 1}" in found.message
        assert reason in found.message
        assert sent in str(found.hint)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"value": "\xff"}', "byte 12 is not UTF-8"),
        (b'{"value": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "it is nested too deeply"),
        (b'{"key": "k"}', "it has neither value nor value_base64"),
        (b'{"value": 1, "event_time": "soon"}', "event_time: Failed to parse string: 'soon'"),
        (b'{"value": 1, "event_time": [1]}', "event_time: "),
        (b'{"value": 1, "key": 1.5}', "key: 1.5 is neither text nor a whole number"),
        (b'{"value": 1, "key": {"a": 1}}', 'key: {"a": 1} is neither text nor a whole number'),
        (b'{"value": 1, "properties": [1]}', "properties: properties are not a JSON object"),
        (b'{"value": 1, "partition": "two"}', "partition: Failed to parse string: 'two'"),
        (b'{"value": 1, "partition": 1.5}', "partition: Failed to parse string: '1.5'"),
        (b'{"value": 1, "sequence_id": true}', "sequence_id: Failed to parse string: 'true'"),
        (b'{"value": 1, "event_time": true}', "event_time: "),
        (b'{"value": 1, "ordering_key": 7}', "ordering_key: "),
        (b'{"value": 1, "ordering_key": "####"}', "ordering_key: "),
        (b'{"value_base64": "####"}', "value: "),
    ],
)
def test_an_error_names_the_file_and_the_line(tmp_path: Path, line: bytes, reason: str) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(b'{"value": 1}\n' * 16 + line + b'\n{"value": 2}\n')
    assert problem(file).message.startswith(f"cannot import {file}: line 17: {reason}")


def test_an_error_in_csv_names_the_row(tmp_path: Path) -> None:
    file = lines(tmp_path / "x.csv", ["value,event_time", "1,5", "1,soon"])
    assert problem(file).message.startswith(f"cannot import {file}: row 2: event_time: Failed to parse")


def test_numbers_may_be_text_in_some_lines_and_properties_any_json(tmp_path: Path) -> None:
    first = '{"value": "a", "partition": "2", "properties": {"n": null, "t": true, "o": {"a": [1]}}}'
    found = rows(lines(tmp_path / "x.jsonl", [first, '{"value": "b", "partition": 3}']))
    assert [row["partition"] for row in found] == [2, 3]
    assert found[0]["properties"] == [("t", "true"), ("o", '{"a": [1]}')]


@pytest.mark.parametrize(
    ("name", "column", "found"),
    [
        ("key", pa.array([b"k"]), "k"),
        ("key", pa.array(["k"]).dictionary_encode(), "k"),
        ("key", pa.array(["k"], pa.large_string()), "k"),
        ("key", pa.array([7]), "7"),
        ("key", pa.nulls(1), None),
        ("partition", pa.array(["2"]), 2),
        ("partition", pa.array([2], pa.int64()), 2),
        ("properties", pa.array(['{"a": 1}']), [("a", "1")]),
        ("properties", pa.array([{"a": "1", "b": None}]), [("a", "1")]),
        ("properties", pa.array([None, ""]).slice(1), []),
        ("ordering_key", pa.array(["o"]), b"o"),
        ("schema_version", pa.array([1], pa.int16()), 1),
        ("value", pa.array(["v"], pa.large_string()), "v"),
        ("value", pa.array([b"v"], pa.large_binary()), b"v"),
        ("value", pa.nulls(1), None),
    ],
)
def test_columns_of_other_types_become_those_of_messages(tmp_path: Path, name: str, column: Any, found: Any) -> None:
    file = parquet(tmp_path / "x.parquet", {"value": pa.array(["v"]), name: column})
    assert [row[name] for row in rows(file)] == [found]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([EVENT_MS]),
        pa.array([EVENT_MS * 1000], pa.timestamp("us")),
        pa.array([EVENT_MS * 1_000_000 + 1], pa.timestamp("ns", tz="Europe/Berlin")),
        pa.array(["2026-01-01T00:00:00.123Z"]),
    ],
)
def test_times_of_other_types_are_instants(tmp_path: Path, column: Any) -> None:
    file = parquet(tmp_path / "x.parquet", {"value": pa.array(["v"]), "event_time": column})
    assert [round(row["event_time"].timestamp() * 1000) for row in rows(file)] == [EVENT_MS]


@pytest.mark.parametrize(
    ("name", "column", "wanted"),
    [
        ("key", pa.array([1.0]), "column key has type double; make it a string"),
        ("key", pa.array([b"\xff"]), "column key has type binary; make it a string"),
        ("key", pa.array([["k"]]), "column key has type list<"),
        ("partition", pa.array(["two"]), "column partition has type string; make it an int32"),
        ("partition", pa.array([1 << 40]), "column partition has type int64; make it an int32"),
        ("properties", pa.array(["{"]), "column properties has type string; make it a map of strings, or JSON text"),
        ("properties", pa.array(["[1]"]), "column properties has type string; make it a map"),
        ("properties", pa.array([1.5]), "column properties has type double; make it a map"),
        ("event_time", pa.array(["soon"]), "column event_time has type string; make it a timestamp"),
        ("event_time", pa.array([(1 << 63) - 1]), "column event_time has type int64; make it a timestamp"),
        ("event_time", pa.array([1 << 62], pa.timestamp("ms")), "column event_time has type timestamp[ms]; make it"),
    ],
)
def test_a_column_of_a_type_that_does_not_fit_is_refused(tmp_path: Path, name: str, column: Any, wanted: str) -> None:
    found = problem(parquet(tmp_path / "x.parquet", {"value": pa.array(["v"]), name: column}))
    assert wanted in found.message
    assert found.hint == "no row of this file was sent"


def test_a_table_without_values_or_with_a_column_twice_is_refused(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    assert "it has no column value" in problem(parquet(tmp_path / "x.parquet", {"key": pa.array(["k"])})).message
    one = pa.array(["k"])
    pq.write_table(pa.Table.from_arrays([one, one, one], ["value", "key", "key"]), tmp_path / "y.parquet")
    assert "several columns key" in problem(tmp_path / "y.parquet").message


def test_a_table_of_other_types_arrives(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    columns = {
        "value": pa.array(["v", None]),
        "key": pa.array([b"a", b"b"]),
        "properties": pa.array(['{"n": "1"}', ""]),
    }
    file = parquet(tmp_path / "x.parquet", columns)
    outcome = Cli(tmp_path, pulsar_broker.http_url, pulsar_broker.service_url)("ops", "import", str(file), topic)
    assert outcome.exit_code == 0, outcome.stderr
    assert {key: found[0][:2] for key, found in by_key(client, topic).items()} == {
        "a": (b"v", (("n", "1"),)),
        "b": (b"", ()),
    }


def test_a_struct_that_cannot_be_encoded_names_the_file_and_the_field(
    pulsar_broker: EmbeddedBroker, topic: str, tmp_path: Path
) -> None:
    at = pa.StructArray.from_arrays([pa.array([1], pa.timestamp("ns"))], ["at"])
    file = parquet(tmp_path / "x.parquet", {"value": at})
    outcome = Cli(tmp_path, pulsar_broker.http_url, pulsar_broker.service_url)("ops", "import", str(file), topic)
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith(f"error: cannot import {file}: value.at: Casting from timestamp[ns]")


def test_an_export_as_json_lines_says_that_a_value_is_null(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    client.create_producer(topic).send(None, partition_key="k")
    cli = Cli(tmp_path, pulsar_broker.http_url, pulsar_broker.service_url)
    assert cli("ops", "export", topic, str(tmp_path / "out"), "-f", "jsonl").exit_code == 0
    (file,) = (tmp_path / "out").glob("*.jsonl")
    assert json.loads(file.read_text())["value"] is None
    assert cli("ops", "import", str(tmp_path / "out"), f"{topic}-copy").exit_code == 0
    assert by_key(client, f"{topic}-copy") == by_key(client, topic)


def test_a_line_of_json_whose_value_was_not_decoded_has_its_bytes() -> None:
    line = {"value": None, "raw_value": "\xff\x00", "decode_error": "it is not UTF-8"}
    assert from_text([line, {"value": None}])["value"].to_pylist() == [b"\xff\x00", None]


@pytest.mark.parametrize("encoded", ["####", "-_-_aGVsbG8=", "aGVsbG8"])
def test_what_is_no_base64_is_refused(encoded: str) -> None:
    with pytest.raises(ValueError, match=r"base64|padding"):
        from_text([{"value_base64": encoded}])


@pytest.mark.parametrize("value", ["12345678901234567890123.10", '{"p": 0.1234567890123456789, "q":1.10}', "[1.10]"])
def test_a_number_of_json_keeps_its_digits(tmp_path: Path, value: str) -> None:
    file = lines(tmp_path / "x.jsonl", [f'{{"value": {value}, "key": "k"}}'])
    assert [row["value"] for row in rows(file)] == [value.encode()]


def test_times_of_csv_may_be_milliseconds(tmp_path: Path) -> None:
    file = lines(tmp_path / "x.csv", ["value,event_time", "a,1700000000123", "b,"])
    assert [row["event_time"] and row["event_time"].timestamp() for row in rows(file)] == [1700000000.123, None]


def test_a_file_may_mix_milliseconds_and_dates(tmp_path: Path) -> None:
    file = lines(tmp_path / "x.csv", ["value,event_time", "a,1500", "b,1970-01-01T00:00:02Z"])
    assert [row["event_time"].timestamp() for row in rows(file)] == [1.5, 2]


@pytest.mark.parametrize(
    "field",
    [
        '"event_time": 9223372036854775807',
        '"event_time": 99999999999999999999',
        '"event_time": "99999999999999999999"',
        '"sequence_id": 99999999999999999999',
    ],
)
def test_a_number_with_too_many_digits_is_an_error_of_the_file(tmp_path: Path, field: str) -> None:
    file = lines(tmp_path / "x.jsonl", [f'{{"value": "a", {field}}}'])
    with pytest.raises(CliError, match=r"cannot import .*x\.jsonl: line 1: "):
        rows(file)
