"""The formats of objects and of lists."""

import json

import pytest

from pulsarctl.output import render
from pulsarctl.output.render import Output, names


def shown(capsys: pytest.CaptureFixture[str], value: object, output: Output, **how: object) -> str:
    render.show(value, output, **how)  # type: ignore[arg-type]  # any of its keyword arguments
    return capsys.readouterr().out


def test_an_object_is_a_table_of_names_and_values(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"partitions": 3, "subscriptions": {"billing": {"msgBacklog": 2, "consumers": []}}, "metadata": {}}
    assert shown(capsys, value, Output.TABLE) == (
        "NAME                              VALUE\n"
        "partitions                        3\n"
        "subscriptions.billing.msgBacklog  2\n"
        "subscriptions.billing.consumers   -\n"
        "metadata                          -\n"
    )


def test_a_list_of_objects_is_a_table_of_their_fields(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, [{"id": 1}, {"id": 2, "state": "open"}], Output.TABLE) == "ID  STATE\n1   -\n2   open\n"


def test_lines_of_json_are_objects_with_the_column_as_key(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, ["a", "b"], Output.JSONL, table=names("TOPIC", ["a", "b"])).splitlines()
    assert [json.loads(line) for line in lines] == [{"topic": "a"}, {"topic": "b"}]
    assert shown(capsys, ["a"], Output.JSONL) == '{"value":"a"}\n'
