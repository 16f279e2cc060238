"""`pulsarctl schemas` and the schema policies, exact output."""

import json
import re
from pathlib import Path

import pytest

from tests.support.http_stub import HttpStub, Reply
from tests.support.runner import Cli, Outcome

OK = Outcome(0, "", "")
A = {"type": "record", "name": "A", "fields": [{"name": "a", "type": "int"}]}
B = {**A, "fields": [*A["fields"], {"name": "b", "type": "int", "default": 1}]}
C = {**A, "fields": [*A["fields"], {"name": "c", "type": "int"}]}


@pytest.fixture
def describe(tmp_path: Path) -> "Describe":
    return Describe(tmp_path)


class Describe:
    """Writes a schema's description to a file and returns the path."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, definition: object, kind: str = "AVRO", **properties: str) -> str:
        path = self._folder / "schema.json"
        path.write_text(json.dumps({"type": kind, "schema": json.dumps(definition), "properties": properties}))
        return str(path)


def timeless(output: str) -> str:
    return re.sub(r'("timestamp"\s?: ?)\d+', r"\1*", output)


def test_a_schema_is_uploaded_and_shown(cli: Cli, topic: str, describe: Describe) -> None:
    assert cli("schemas", "upload", topic, "-f", describe(A, owner="me")) == OK
    shown = timeless(cli("schemas", "get", topic).stdout)
    assert shown == (
        '{\n  "version" : 0,\n  "schemaInfo" : {\n    "name" : "'
        + topic
        + '",\n    "schema" : {\n      "type" : "record",\n      "name" : "A",\n      "fields" : [ {\n'
        '        "name" : "a",\n        "type" : "int"\n      } ]\n    },\n    "type" : "AVRO",\n    "timestamp" : *,\n'
        '    "properties" : {\n      "owner" : "me"\n    }\n  }\n}\n'
    )


def test_every_version_is_a_row(cli: Cli, topic: str, describe: Describe) -> None:
    for definition in (A, B):
        assert cli("schemas", "upload", topic, "-f", describe(definition)) == OK
    table = cli("schemas", "get", topic, "-a", "-o", "table").stdout.splitlines()
    assert [line.split()[:2] for line in table] == [["VERSION", "TYPE"], ["0", "AVRO"], ["1", "AVRO"]]
    assert [one["version"] for one in json.loads(cli("schemas", "get", topic, "-a", "-o", "json").stdout)] == [0, 1]
    assert json.loads(cli("schemas", "get", topic, "-v", "0").stdout)["schemaInfo"]["schema"] == A


def test_a_topic_without_a_schema_exits_with_3(cli: Cli, topic: str) -> None:
    outcome = cli("schemas", "get", topic)
    assert (outcome.exit_code, outcome.stdout) == (3, "")
    assert outcome.stderr.startswith("error: Schema not found (404 for GET ")


def test_an_incompatible_schema_exits_with_6_and_the_reason(cli: Cli, topic: str, describe: Describe) -> None:
    cli("schemas", "upload", topic, "-f", describe(A))
    outcome = cli("schemas", "upload", topic, "-f", describe(C))
    assert outcome.exit_code == 6
    assert outcome.stderr.startswith(
        "error: Error during schema compatibility check with strategy FULL: A.c was not written and has no default."
    )


def test_testing_compatibility_shows_the_strategy_or_the_reason(cli: Cli, topic: str, describe: Describe) -> None:
    cli("schemas", "upload", topic, "-f", describe(A))
    asked = cli("schemas", "compatibility", topic, "-f", describe(B), "-o", "jsonl")
    assert asked == Outcome(0, '{"schemaCompatibilityStrategy":"FULL","compatibility":true}\n', "")
    refused = cli("schemas", "compatibility", topic, "-f", describe(C))
    assert (refused.exit_code, refused.stdout, "A.c was not written" in refused.stderr) == (1, "", True)


def test_the_versions_of_a_deleted_schema_are_not_reused(cli: Cli, topic: str, describe: Describe) -> None:
    cli("schemas", "upload", topic, "-f", describe(A))
    assert cli("schemas", "delete", topic) == OK
    assert cli("schemas", "get", topic).exit_code == 3
    cli("schemas", "upload", topic, "--type", "string")
    assert json.loads(cli("schemas", "get", topic).stdout)["version"] == 2
    assert cli("schemas", "delete", topic, "--force") == OK
    cli("schemas", "upload", topic, "--type", "string")
    assert json.loads(cli("schemas", "get", topic).stdout)["version"] == 0


def test_a_definition_is_uploaded_with_its_type(cli: Cli, topic: str, tmp_path: Path) -> None:
    (tmp_path / "a.avsc").write_text(json.dumps(A))
    uploaded = cli("schemas", "upload", topic, "--type", "json", "--schema-file", str(tmp_path / "a.avsc"), "-p", "k=v")
    assert uploaded == OK
    info = json.loads(cli("schemas", "get", topic).stdout)["schemaInfo"]
    assert (info["type"], info["schema"], info["properties"]) == ("JSON", A, {"k": "v"})


def test_a_description_can_be_yaml_with_a_structured_definition(cli: Cli, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "schema.yaml"
    path.write_text("type: avro\nschema:\n  type: record\n  name: A\n  fields: []\n")
    assert cli("schemas", "upload", topic, "-f", str(path)) == OK
    assert json.loads(cli("schemas", "get", topic).stdout)["schemaInfo"]["schema"]["fields"] == []


def test_a_key_value_schema_is_shown_as_two_schemas(cli: Cli, topic: str, describe: Describe) -> None:
    types = {"key.schema.type": "STRING", "value.schema.type": "AVRO", "kv.encoding.type": "INLINE"}
    assert cli("schemas", "upload", topic, "-f", describe({"key": "", "value": A}, "KEY_VALUE", **types)) == OK
    assert json.loads(cli("schemas", "get", topic).stdout)["schemaInfo"]["schema"] == {"key": "", "value": A}


def test_the_schema_of_a_python_class_is_extracted(
    cli: Cli, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_records.py").write_text(
        "from pulsar.schema import Integer, Record\n\n\nclass Order(Record):\n    count = Integer(required=True)\n"
    )
    monkeypatch.chdir(tmp_path)
    printed = cli("schemas", "extract", topic, "-c", "my_records:Order", "-n", "-o", "jsonl").stdout
    definition = {"type": "record", "name": "Order", "fields": [{"name": "count", "type": "int"}]}
    assert json.loads(json.loads(printed)["schema"]) == definition
    assert cli("schemas", "get", topic).exit_code == 3
    assert cli("schemas", "extract", topic, "-c", "my_records:Order") == OK
    assert json.loads(cli("schemas", "get", topic).stdout)["schemaInfo"]["schema"] == definition


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("upload", "t"), "error: specify a schema file or a type, and not both"),
        (("upload", "t", "--type", "what"), "error: unknown schema type 'what'"),
        (("extract", "t", "-c", "nix:Nix"), "error: cannot use nix:Nix as a record class"),
        (("get", "t", "-a", "-v", "1"), "error: cannot combine -v and -a"),
    ],
)
def test_an_invalid_command_line_exits_with_2(cli: Cli, words: tuple[str, ...], message: str) -> None:
    outcome = cli("schemas", *words)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(message)


def test_an_error_for_a_bare_definition_says_how_to_pass_it(cli: Cli, tmp_path: Path, topic: str) -> None:
    file = tmp_path / "order.avsc"
    file.write_text('{"type": "record", "name": "Order", "fields": []}')
    assert cli("schemas", "upload", topic, "-f", str(file)) == Outcome(
        2,
        "",
        f"error: cannot use {file}: it is a definition without a type\n"
        f"hint: use --type avro --schema-file {file}, or --type json\n",
    )
    assert cli("schemas", "upload", topic, "--type", "avro", "--schema-file", str(file)) == OK


def test_a_file_without_a_schema_exits_with_2(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[]")
    assert cli("schemas", "upload", "t", "-f", str(tmp_path / "a.json")).exit_code == 2


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (r'{"reason":"\n --- An unexpected error occurred ---\n\nMessage: no\n\nStacktrace:\n\nx"}', "no"),
        ('{\n"url":"/x",\n"status":"409",\n"message":"no"\n}', "no"),
        ("<html>\n<head>\n<title>Error 409 a &lt; b</title>\n</head>", "a < b"),
    ],
)  # fmt: skip
def test_the_reason_of_a_java_broker_is_unwrapped(tmp_path: Path, body: str, reason: str) -> None:
    with HttpStub(lambda _: Reply(409, body)) as stub:
        outcome = Cli(tmp_path, stub.url)("schemas", "get", "t")
    assert outcome.stderr.startswith(f"error: {reason} (409 for GET ")


# Policies


def test_the_strategy_of_a_namespace_is_set_and_shown(cli: Cli) -> None:
    assert cli("namespaces", "create", "public/strategies") == OK
    get = ("namespaces", "get-schema-compatibility-strategy", "public/strategies")
    assert cli(*get).stdout == "UNDEFINED\n"
    assert cli("namespaces", "set-schema-compatibility-strategy", "public/strategies", "-c", "backward") == OK
    assert cli(*get).stdout == "BACKWARD\n"
    refused = cli("namespaces", "set-schema-compatibility-strategy", "public/strategies", "-c", "what")
    assert refused.exit_code == 2
    assert cli("namespaces", "delete", "public/strategies") == OK


def test_the_older_strategy_has_the_names_of_pulsar_admin(cli: Cli) -> None:
    assert cli("namespaces", "create", "public/older") == OK
    get = ("namespaces", "get-schema-autoupdate-strategy", "public/older")
    for words, shown in ((("-c", "None"), "AlwaysCompatible"), (("--disabled",), "AutoUpdateDisabled")):
        assert cli("namespaces", "set-schema-autoupdate-strategy", "public/older", *words) == OK
        assert cli(*get).stdout == f"{shown}\n"
    assert cli("namespaces", "delete", "public/older") == OK


def test_flags_of_a_namespace_are_set_and_shown(cli: Cli) -> None:
    assert cli("namespaces", "create", "public/switches") == OK
    for policy, before in (("is-allow-auto-update-schema", "true"), ("schema-validation-enforce", "false")):
        assert cli("namespaces", f"get-{policy}", "public/switches").stdout == f"{before}\n"
        other = "--disable" if before == "true" else "--enable"
        assert cli("namespaces", f"set-{policy}", "public/switches", other) == OK
        assert cli("namespaces", f"get-{policy}", "public/switches").stdout != f"{before}\n"
        assert cli("namespaces", f"set-{policy}", "public/switches").exit_code == 2
    assert cli("namespaces", "delete", "public/switches") == OK


@pytest.mark.parametrize("noun", ["topics", "topicPolicies"])
def test_a_topic_can_have_its_own_strategy(cli: Cli, topic: str, noun: str) -> None:
    cli("topics", "create", topic)
    assert cli(noun, "get-schema-compatibility-strategy", topic, "-ap").stdout == "FULL\n"
    assert cli(noun, "set-schema-compatibility-strategy", topic, "-s", "FORWARD") == OK
    assert cli(noun, "get-schema-compatibility-strategy", topic).stdout == "FORWARD\n"
    assert cli(noun, "remove-schema-compatibility-strategy", topic) == OK
    assert cli(noun, "get-schema-compatibility-strategy", topic).stdout == "null\n"
    assert cli(noun, "set-schema-validation-enforce", topic, "-e") == OK
    assert cli(noun, "get-schema-validation-enforce", topic).stdout == "true\n"
