"""`pulsarctl packages`: programs that a cluster stores for functions and connectors."""

import re
from typing import Any

from pulsarctl.admin.form import Form
from pulsarctl.errors import UsageProblem
from pulsarctl.requests.fields import NAMESPACE
from pulsarctl.requests.installing import install_requests
from pulsarctl.requests.request import Field, In, Request, Shown, Values
from pulsarctl.shell.arguments import csv, pairs
from pulsarctl.shell.grammar import Noun

app = Noun("packages", "Upload, download, and delete packages of functions and connectors.")

NAME = Field("package", "Name, as TYPE://TENANT/NAMESPACE/PACKAGE@VERSION.", metavar="PACKAGE", place=In.NOWHERE)
EXAMPLE = "function://public/default/copy@1"
_NAME = re.compile(r"(function|sink|source)://([^/]+)/([^/]+)/([^/@]+)(?:@([^/]+))?")
ALL_VERSIONS = "//admin/v3/packages/{type}/{tenant}/{ns}/{name}"
ONE_VERSION = f"{ALL_VERSIONS}/{{version}}"


def _read(values: Values) -> None:
    """Raises `UsageProblem`."""
    match = _NAME.fullmatch(values["package"])
    if match is None:
        raise UsageProblem(f"'{values['package']}' is not a package", hint=f"use {EXAMPLE}")
    values["type"], values["tenant"], values["ns"], values["name"], version = match.groups()
    values["version"] = version or "latest"


def _metadata(values: Values) -> dict[str, Any]:
    metadata = {"description": values["description"], "contact": values["contact"]}
    properties = pairs(csv(values["properties"]))
    return {key: value for key, value in (metadata | {"properties": properties}).items() if value}


def _upload(values: Values) -> Form:
    return Form().document("metadata", _metadata(values)).file("file", values["path"])


def _described(short: bool) -> tuple[Field, ...]:
    return (
        Field(
            "description",
            "Description of the package.",
            ("-d", "--description") if short else ("--description",),
            "TEXT",
            In.NOWHERE,
        ),
        Field(
            "contact",
            "Contact for the package.",
            ("-c", "--contact") if short else ("--contact",),
            "TEXT",
            In.NOWHERE,
            default=None,
        ),
        Field(
            "properties",
            "Properties of the package, as KEY=VALUE; may be repeated.",
            ("-P", "--properties"),
            "KEY=VALUE",
            In.NOWHERE,
            list[str],
            None,
        ),
    )


install_requests(
    app,
    (
        Request(
            "get-metadata",
            "GET",
            f"{ONE_VERSION}/metadata",
            "Show the description of a package.",
            EXAMPLE,
            (NAME,),
            Shown.VALUE,
            check=_read,
        ),
        Request(
            "update-metadata",
            "PUT",
            f"{ONE_VERSION}/metadata",
            "Change the description of a package.",
            f"{EXAMPLE} -d copies",
            (NAME, *_described(True)),
            check=_read,
            body=_metadata,
        ),
        Request(
            "upload",
            "POST",
            ONE_VERSION,
            "Upload a package.",
            f"{EXAMPLE} --description copies --path copy.jar",
            (NAME, *_described(False), Field("path", "File to upload.", ("--path",), "FILE", In.NOWHERE)),
            check=_read,
            payload=_upload,
        ),
        Request(
            "download",
            "GET",
            ONE_VERSION,
            "Download a package.",
            f"{EXAMPLE} --path copy.jar",
            (NAME, Field("path", "File to write.", ("--path",), "FILE", In.NOWHERE)),
            check=_read,
            into="path",
        ),
        Request(
            "delete",
            "DELETE",
            ONE_VERSION,
            "Delete a package.",
            EXAMPLE,
            (NAME,),
            check=_read,
            question="Delete package {package}?",
        ),
        Request(
            "list-versions",
            "GET",
            ALL_VERSIONS,
            "List the versions of a package.",
            "function://public/default/copy",
            (NAME,),
            Shown.VALUE,
            check=_read,
        ),
        Request(
            "list",
            "GET",
            "//admin/v3/packages/{type}/{namespace}",
            "List the packages of a namespace.",
            "public/default --type function",
            (
                NAMESPACE,
                Field(
                    "type",
                    "Type: function, sink, or source.",
                    ("--type",),
                    "TYPE",
                    words=("function", "sink", "source"),
                ),
            ),
            Shown.VALUE,
        ),
    ),
)
