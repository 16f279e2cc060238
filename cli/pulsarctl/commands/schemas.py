"""`pulsarctl schemas`: the versions of the schema of a topic."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pulsarctl.admin.schemas import SchemaInfo
from pulsarctl.errors import UsageProblem
from pulsarctl.output.render import Table
from pulsarctl.schemas.schema_files import TYPES, from_class, from_definition, from_description
from pulsarctl.shell.arguments import Properties, Topic, Yes, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.choice import choice

app = Noun("schemas", "Show, upload, and delete the schemas of topics.")

Description = Annotated[
    Path | None,
    typer.Option("-f", "--filename", metavar="FILE", help="File with type, schema, and properties, in JSON or YAML."),
]
Type = Annotated[
    str | None,
    typer.Option(
        "--type",
        metavar="TYPE",
        autocompletion=choice(*map(str.lower, TYPES)),
        help="Type of the schema, instead of -f: avro, json, string, int32, ...",
    ),
]
Definition = Annotated[
    Path | None, typer.Option("--schema-file", metavar="FILE", help="File with the definition of a schema of --type.")
]


@app.verb("get")
def get_schema(
    call: Call,
    topic: Topic,
    version: Annotated[
        int | None, typer.Option("-v", "--version", metavar="N", help="Version of the schema. Default: the latest.")
    ] = None,
    all_versions: Annotated[
        bool, typer.Option("-a", "--all-version", "--all-versions", help="Show every version.")
    ] = False,
) -> None:
    """Show the schema of a topic.

    Fails with exit code 3 if the topic has no schema.

    Example: pulsarctl schemas get orders
    """
    if all_versions and version is not None:
        raise UsageProblem("cannot combine -v and -a")
    if not all_versions:
        call.show(call.admin.schemas.get(topic, version))
        return
    versions = call.admin.schemas.all_versions(topic)
    call.show(versions, Table(("VERSION", "TYPE", "TIMESTAMP"), [_row(row) for row in versions]))


@app.verb("upload")
def upload_schema(
    call: Call,
    topic: Topic,
    filename: Description = None,
    schema_type: Type = None,
    schema_file: Definition = None,
    properties: Properties = None,
) -> None:
    """Upload a schema, or a new version of it, for a topic.

    Fails with exit code 6 if the schema is not compatible with the existing versions.

    Examples:
      pulsarctl schemas upload orders -f order.json
      pulsarctl schemas upload orders --type avro --schema-file order.avsc
    """
    call.admin.schemas.upload(topic, _schema(filename, schema_type, schema_file, properties))


@app.verb("compatibility")
def check_compatibility(
    call: Call,
    topic: Topic,
    filename: Description = None,
    schema_type: Type = None,
    schema_file: Definition = None,
    properties: Properties = None,
) -> None:
    """Check whether a schema is compatible with the schema of a topic.

    Shows the compatibility strategy. Fails with the reason if the schema is not compatible.

    Example: pulsarctl schemas compatibility orders -f order.json
    """
    call.show(call.admin.schemas.compatibility(topic, _schema(filename, schema_type, schema_file, properties)))


@app.verb("delete", loses_data=True)
def delete_schema(
    call: Call,
    topic: Topic,
    force: Annotated[
        bool, typer.Option("-f", "--force", help="Delete all versions permanently, instead of hiding them.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Delete the schema of a topic.

    The next schema gets the next version number, or 0 after --force.

    Example: pulsarctl schemas delete orders
    """
    call.confirm(f"Delete the schema of {topic}" + (" with all its versions?" if force else "?"), yes=yes)
    call.admin.schemas.delete(topic, force=force)


@app.verb("extract")
def extract_schema(
    call: Call,
    topic: Topic,
    classname: Annotated[
        str, typer.Option("-c", "--classname", metavar="MODULE:CLASS", help="Subclass of pulsar.schema.Record.")
    ],
    schema_type: Annotated[
        str,
        typer.Option(
            "-t",
            "--type",
            metavar="TYPE",
            autocompletion=choice("avro", "json"),
            help="Type of the schema: avro or json.",
        ),
    ] = "avro",
    dry_run: Annotated[bool, typer.Option("-n", "--dry-run", help="Print the schema and upload nothing.")] = False,
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
    """Show where the broker stores the versions of a schema.

    Example: pulsarctl schemas metadata orders
    """
    call.show(call.admin.schemas.metadata(topic))


def _schema(
    filename: Path | None, schema_type: str | None, schema_file: Path | None, properties: list[str] | None
) -> SchemaInfo:
    if (filename is None) == (schema_type is None):
        raise UsageProblem(
            "specify a schema file or a type, and not both", hint="use -f FILE, or --type TYPE [--schema-file FILE]"
        )
    if filename is not None:
        return from_description(filename)
    return from_definition(schema_type or "", schema_file, pairs(properties))


def _row(document: dict[str, Any]) -> tuple[object, ...]:
    info = document["schemaInfo"]
    return document["version"], info["type"], info["timestamp"]
