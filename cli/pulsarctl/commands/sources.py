"""`pulsarctl sources`: connectors of a cluster that runs them."""

from pulsarctl.shell.grammar import Noun
from pulsarctl.verbs.requests.installing import install_requests
from pulsarctl.verbs.requests.of_functions import (
    COMMON,
    RESOURCES,
    Option,
    check_identity,
    config_fields,
    form_of,
    identity,
    lifecycle,
)
from pulsarctl.verbs.requests.request import Request, Shown

app = Noun("sources", "Deploy and manage connectors: sources.")

ROOT = "//admin/v3/sources"
OPTIONS: tuple[Option, ...] = (
    *COMMON,
    *RESOURCES,
    ("--destination-topic-name", "topicName", str),
    ("--deserialization-classname", "serdeClassName", str),
    ("-st --schema-type", "schemaType", str),
    ("--producer-config", "producerConfig", dict),
    ("--batch-builder", "batchBuilder", str),
    ("--batch-source-config", "batchSourceConfig", dict),
    ("--source-config", "configs", dict),
)
FIELDS = (
    *identity("source"),
    *config_fields(OPTIONS, "--source-config-file", (("-a", "--archive"), ("-t", "--source-type"))),
)


def _builtin(given: dict[str, object]) -> None:
    check_identity(given)
    kind = given["source_type"]
    if kind and not given["archive"]:
        given["archive"] = f"builtin://{kind}"


def _deploy(verb: str, method: str, summary: str) -> Request:
    return Request(
        verb,
        method,
        f"{ROOT}/{{tenant}}/{{ns}}/{{name}}",
        summary,
        "--name copy --archive copy.nar --destination-topic-name out",
        FIELDS,
        check=_builtin,
        payload=form_of(OPTIONS, "sourceConfig", ("archive",), verb == "update"),
    )


install_requests(
    app,
    (
        *lifecycle("source", "sources"),
        _deploy("create", "POST", "Deploy a source."),
        _deploy("update", "PUT", "Change a source."),
        Request("available-sources", "GET", f"{ROOT}/builtinsources", "List the builtin sources.", "", (), Shown.VALUE),
        Request("reload", "POST", f"{ROOT}/reloadBuiltInSources", "Load the builtin sources again.", ""),
    ),
)
