"""JSON from outside: what is nested too deeply is an error like any other."""

from pathlib import Path

import pytest

from pulsarctl.values.json_text import DEPTH_MAX, parse_json

COMMAND_LINE = Path(__file__).resolve().parents[4] / "cli" / "pulsarctl"
OTHERS = {
    "values/json_text.py",
    "schemas/avro_json.py",  # refuses NaN as well, and the depth that its own walk cannot follow
    "transfer/file_formats.py",  # a line of a file; it names the line
    "output/redaction.py",  # stands beside `values`
    *("backlog/snapshots.py", "embedded.py", "iceberg/progress.py"),  # what pulsarctl itself has written
    *("transfer/import_progress.py", "transfer/replay_state.py"),
}


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def test_json_may_be_nested_up_to_a_limit() -> None:
    found = parse_json(nested(DEPTH_MAX))
    for _ in range(DEPTH_MAX - 1):
        (found,) = found
    assert found == []


@pytest.mark.parametrize("depth", [DEPTH_MAX + 1, 100_000])
@pytest.mark.parametrize("shape", ["[%s]", '{"a": %s}'])
def test_json_that_is_nested_more_deeply_is_refused(depth: int, shape: str) -> None:
    text = shape % nested(depth)
    for each in (text, text.encode()):
        with pytest.raises(ValueError, match=f"nested more than {DEPTH_MAX} levels deep"):
            parse_json(each)


def test_a_wide_text_is_not_deep() -> None:
    assert len(parse_json("[" + "[]," * 1000 + "{}]")) == 1001


def test_every_module_reads_json_from_outside_with_a_limit() -> None:
    found = {
        file.relative_to(COMMAND_LINE).as_posix()
        for file in COMMAND_LINE.rglob("*.py")
        if "json.loads(" in file.read_text()
    }
    assert found == OTHERS
