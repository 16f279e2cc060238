"""Schemas on the command line against our broker and against Apache Pulsar."""

import json
from pathlib import Path

import pytest

from tests.long.real_pulsar.java_pulsar import JavaPulsar
from tests.long.real_pulsar.steps import Answers, check_same, numbered, run_on_both

pytestmark = [pytest.mark.real_pulsar, pytest.mark.timeout(1800)]

FIRST = {"type": "record", "name": "A", "fields": [{"name": "a", "type": "int"}]}
SECOND = {**FIRST, "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": ["null", "string"], "default": None}]}
PAIR = {"key": FIRST, "value": ""}
PAIR_TYPES = {"key.schema.type": "AVRO", "value.schema.type": "STRING", "kv.encoding.type": "INLINE"}

STEPS = """
tenants create forms
namespaces create forms/ns
namespaces get-schema-compatibility-strategy forms/ns
namespaces get-is-allow-auto-update-schema forms/ns
namespaces get-schema-validation-enforce forms/ns
schemas get forms/ns/t
schemas get forms/ns/t -a
schemas upload forms/ns/t -f FOLDER/first.json
schemas upload forms/ns/t -f FOLDER/first.json
schemas upload forms/ns/t -f FOLDER/second.json
schemas get forms/ns/t
schemas get forms/ns/t -v 0
schemas get forms/ns/t -v 7
schemas get forms/ns/t -a -o json
schemas upload forms/ns/t --type string
schemas compatibility forms/ns/t -f FOLDER/first.json
schemas compatibility forms/ns/t --type string
produce forms/ns/t --schema auto -m '{"a": 1}' -m '{"a": 2, "b": "x"}'
produce forms/ns/t --schema avro:FOLDER/first.avsc -m '{"a": 3}'
produce forms/ns/t --schema string -m refused
consume forms/ns/t -p Earliest -e --schema auto -F '%e %v\\n'
read forms/ns/t -m earliest -e --schema auto -o text
produce forms/ns/j --schema json:FOLDER/first.avsc -m '{"a": 3}'
consume forms/ns/j -p Earliest -e --schema auto -F '%v\\n'
schemas get forms/ns/j
produce forms/ns/s --schema string -m text
schemas get forms/ns/s
schemas upload forms/ns/kv -f FOLDER/pair.json
schemas get forms/ns/kv
namespaces set-is-allow-auto-update-schema forms/ns --disable
namespaces get-is-allow-auto-update-schema forms/ns
produce forms/ns/s --schema string -m known
produce forms/ns/new --schema string -m unknown
namespaces set-is-allow-auto-update-schema forms/ns --enable
namespaces set-schema-validation-enforce forms/ns --enable
namespaces get-schema-validation-enforce forms/ns
produce forms/ns/s -m plain
namespaces set-schema-validation-enforce forms/ns --disable
namespaces set-schema-compatibility-strategy forms/ns -c ALWAYS_COMPATIBLE
namespaces get-schema-compatibility-strategy forms/ns
schemas upload forms/ns/t --type string
schemas get forms/ns/t
topics get-schema-compatibility-strategy forms/ns/t
topics get-schema-compatibility-strategy forms/ns/t -ap
topics set-schema-compatibility-strategy forms/ns/t -s FORWARD
topics get-schema-compatibility-strategy forms/ns/t
topics remove-schema-compatibility-strategy forms/ns/t
schemas delete forms/ns/t
schemas get forms/ns/t
schemas upload forms/ns/t -f FOLDER/first.json
schemas get forms/ns/t -a -o json
topics delete forms/ns/t -f
schemas get forms/ns/t
""".strip().splitlines()


def described(kind: str, definition: object, properties: dict[str, str]) -> str:
    return json.dumps({"type": kind, "schema": json.dumps(definition), "properties": properties})


@pytest.fixture(scope="module")
def answers(java_pulsar: JavaPulsar, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    folder: Path = tmp_path_factory.mktemp("home")
    (folder / "first.json").write_text(described("AVRO", FIRST, {"owner": "me"}))
    (folder / "second.json").write_text(described("AVRO", SECOND, {}))
    (folder / "pair.json").write_text(described("KEY_VALUE", PAIR, PAIR_TYPES))
    (folder / "first.avsc").write_text(json.dumps(FIRST))
    return run_on_both([step.replace("FOLDER", str(folder)) for step in STEPS], java_pulsar, folder)


@pytest.mark.parametrize("index", range(len(STEPS)), ids=numbered(STEPS))
def test_the_answer_is_the_same(answers: Answers, index: int) -> None:
    check_same(answers, index)
