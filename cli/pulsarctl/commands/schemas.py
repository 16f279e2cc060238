"""`pulsarctl schemas`: what the messages of a topic look like, version by version."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pulsarctl.admin.schemas import SchemaInfo
from pulsarctl.errors import UsageProblem
from pulsarctl.output.render import Table
from pulsarctl.schemas.schema_files import from_class, from_definition, from_description
from pulsarctl.shell.arguments import Properties, Topic, Yes, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun

app = Noun("schemas", "Show, upload and delete the schemas of topics.")

Description = Annotated[
    Path | None,
    typer.Option("-f", "--filename", metavar="FILE", help="JSON or YAML with type, schema and properties."),
]
Type = Annotated[
    str | None, typer.Option("--type", metavar="TYPE", help="Instead of -f: avro, json, string, int32, ...")
]
Definition = Annotated[
    Path | None, typer.Option("--schema-file", metavar="FILE", help="With --type: the definition alone.")
]


@app.verb("get")
def get_schema(
    call: Call,
    topic: Topic,
    version: Annotated[
        int | None, typer.Option("-v", "--version", metavar="N", help="This one; else the latest.")
    ] = None,
    all_versions: Annotated[bool, typer.Option("-a", "--all-version", "--all-versions", help="Every version.")] = False,
) -> None:
    """Show the schema of a topic. Fails with 404 when there is none.

    Example: pulsarctl schemas get orders
    """
    if all_versions and version is not None:
        raise UsageProblem("-v and -a exclude each other")
    if not all_versions:
        call.show(call.admin.schemas.get(topic, version))
        return
    found = call.admin.schemas.all_versions(topic)
    call.show(found, Table(("VERSION", "TYPE", "TIMESTAMP"), [_row(one) for one in found]))


@app.verb("upload")
def upload_schema(
    call: Call,
    topic: Topic,
    filename: Description = None,
    schema_type: Type = None,
    schema_file: Definition = None,
    properties: Properties = None,
) -> None:
    """Give a topic a schema, or a new version. Fails with 409 when it may not follow what is there.

    Example: pulsarctl schemas upload orders -f order.json

    Example: pulsarctl schemas upload orders --type avro --schema-file order.avsc
    """
    call.admin.schemas.upload(topic, _given(filename, schema_type, schema_file, properties))


@app.verb("compatibility")
def check_compatibility(
    call: Call,
    topic: Topic,
    filename: Description = None,
    schema_type: Type = None,
    schema_file: Definition = None,
    properties: Properties = None,
) -> None:
    """Ask whether a schema may follow, and under which strategy; fails with the reason when it may not.

    Example: pulsarctl schemas compatibility orders -f order.json
    """
    call.show(call.admin.schemas.compatibility(topic, _given(filename, schema_type, schema_file, properties)))


@app.verb("delete", loses_data=True)
def delete_schema(
    call: Call,
    topic: Topic,
    force: Annotated[bool, typer.Option("-f", "--force", help="All versions, for good; else they are hidden.")] = False,
    yes: Yes = False,
) -> None:
    """Delete the schema of a topic; the next one gets the next number, with --force number 0.

    Example: pulsarctl schemas delete orders
    """
    call.confirm(f"Delete the schema of {topic}" + (" with all its versions?" if force else "?"), yes=yes)
    call.admin.schemas.delete(topic, force=force)


@app.verb("extract")
def extract_schema(
    call: Call,
    topic: Topic,
    classname: Annotated[
        str, typer.Option("-c", "--classname", metavar="MODULE:CLASS", help="A pulsar.schema.Record.")
    ],
    schema_type: Annotated[str, typer.Option("-t", "--type", metavar="TYPE", help="avro or json.")] = "avro",
    dry_run: Annotated[bool, typer.Option("-n", "--dry-run", help="Print it and upload nothing.")] = False,
) -> None:
    """Upload the schema of a Python class.

    Example: pulsarctl schemas extract orders -c shop.records:Order -t json -n
    """
    schema = from_class(classname, schema_type)
    if dry_run:
        call.show(schema.body())
    else:
        call.admin.schemas.upload(topic, schema)


@app.verb("metadata")
def schema_metadata(call: Call, topic: Topic) -> None:
    """Show where the broker keeps the versions.

    Example: pulsarctl schemas metadata orders
    """
    call.show(call.admin.schemas.metadata(topic))


def _given(
    filename: Path | None, schema_type: str | None, schema_file: Path | None, properties: list[str] | None
) -> SchemaInfo:
    if (filename is None) == (schema_type is None):
        raise UsageProblem("which schema?", hint="-f FILE, or --type TYPE [--schema-file FILE]")
    if filename is not None:
        return from_description(filename)
    return from_definition(schema_type or "", schema_file, pairs(properties))


def _row(found: dict[str, Any]) -> tuple[object, ...]:
    info = found["schemaInfo"]
    return found["version"], info["type"], info["timestamp"]
