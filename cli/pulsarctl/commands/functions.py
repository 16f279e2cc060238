"""`pulsarctl functions`: Pulsar Functions of a cluster that runs them."""

from pulsarctl.admin.form import Form
from pulsarctl.errors import UsageProblem
from pulsarctl.requests.functions import (
    COMMON,
    CONSUMING,
    INSTANCE,
    RESOURCES,
    Option,
    check_identity,
    config_fields,
    form_of,
    identity,
    lifecycle,
)
from pulsarctl.requests.installing import install_requests
from pulsarctl.requests.request import Field, In, Request, Shown, Values
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.json_text import parse_json

app = Noun("functions", "Deploy and manage Pulsar Functions.")

ROOT = "//admin/v3/functions"
OF = f"{ROOT}/{{tenant}}/{{ns}}/{{name}}"
NAMED = identity("function")
OPTIONS: tuple[Option, ...] = (
    *COMMON,
    *RESOURCES,
    *CONSUMING,
    ("-o --output", "output", str, "Topic for the results."),
    ("--producer-config", "producerConfig", dict, "Settings of the producer, as a JSON object."),
    ("-st --schema-type", "outputSchemaType", str, "Schema type or schema class of the results."),
    ("--custom-serde-inputs", "customSerdeInputs", dict, "SerDe class by input topic, as a JSON object."),
    ("--custom-schema-inputs", "customSchemaInputs", dict, "Schema type by input topic, as a JSON object."),
    ("--custom-schema-outputs", "customSchemaOutputs", dict, "Schema properties by output topic, as a JSON object."),
    ("--input-type-class-name", "inputTypeClassName", str, "Class of the input values."),
    ("--output-serde-classname", "outputSerdeClassName", str, "SerDe class of the results."),
    ("--output-type-class-name", "outputTypeClassName", str, "Class of the results."),
    ("--user-config", "userConfig", dict, "Settings that the function can read, as a JSON object."),
    ("--batch-builder", "batchBuilder", str, "Batch builder of the producer: DEFAULT or KEY_BASED."),
    (
        "--forward-source-message-property",
        "forwardSourceMessageProperty",
        bool,
        "Copy the properties of each input message to its result.",
    ),
    ("--subs-name", "subName", str, "Name of the subscription to the input topics."),
    ("--subs-position", "subscriptionPosition", str, "Start of a new subscription: Latest or Earliest."),
    ("--skip-to-latest", "skipToLatest", bool, "Skip to the latest message when an instance restarts."),
    ("--max-message-retries", "maxMessageRetries", int, "Maximum number of retries for a message."),
    ("--cleanup-subscription", "cleanupSubscription", bool, "Delete the subscription together with the function."),
    ("-t --function-type", "functionType", str, "Builtin function to run."),
)
PACKAGES = (("--jar",), ("--py",), ("--go",))
FIELDS = (*NAMED, *config_fields(OPTIONS, "--function-config-file", PACKAGES))
KEY = Field("key", "Key of the value in the state.", ("-k", "--key"), "KEY")


def _deploy(verb: str, method: str, summary: str) -> Request:
    return Request(
        verb,
        method,
        OF,
        summary,
        "--name copy --jar copy.jar --classname Copy --inputs in --output out",
        FIELDS,
        check=check_identity,
        payload=form_of(OPTIONS, "functionConfig", ("jar", "py", "go"), verb == "update"),
    )


def _state_key(values: Values) -> None:
    check_identity(values)
    try:
        values["key"] = parse_json(values["state"])["key"]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageProblem(
            "the state is not a JSON object with a key", hint='use \'{"key":"k","stringValue":"v"}\''
        ) from error


def _trigger(values: Values) -> Form:
    form = Form()
    if values["value"] is None and values["file"] is None:
        raise UsageProblem("no value given", hint="use --trigger-value TEXT or --trigger-file FILE")
    if values["value"] is not None:
        form.text("data", values["value"])
    if values["file"] is not None:
        form.file("dataStream", values["file"])
    return form.text("topic", values["topic_name"]) if values["topic_name"] else form


def _state(values: Values) -> Form:
    return Form().document("state", parse_json(values["state"]))


def _upload(values: Values) -> Form:
    return Form().file("data", values["source"]).text("path", values["path"])


def _check_source(values: Values) -> None:
    if not values["path"]:
        check_identity(values)


def _text(name: str, help: str, *spellings: str, metavar: str = "TEXT") -> Field:
    return Field(name, help, spellings, metavar, In.NOWHERE, default=None)


install_requests(
    app,
    (
        *lifecycle("function", "functions"),
        _deploy("create", "POST", "Deploy a function."),
        _deploy("update", "PUT", "Change a function."),
        Request(
            "stats",
            "GET",
            OF,
            "Show the stats of a function.",
            "--name copy",
            (*NAMED, INSTANCE),
            Shown.VALUE,
            check=check_identity,
            ending="{instance}/stats",
            otherwise="stats",
        ),
        Request(
            "querystate",
            "GET",
            f"{OF}/state/{{key}}",
            "Show a value in the state of a function.",
            "--name copy -k count",
            (*NAMED, KEY),
            Shown.VALUE,
            check=check_identity,
        ),
        Request(
            "putstate",
            "POST",
            f"{OF}/state/{{key}}",
            "Set a value in the state of a function.",
            """--name copy -s '{"key":"count","numberValue":1}'""",
            (*NAMED, Field("state", "The state, as JSON.", ("-s", "--state"), "JSON", In.NOWHERE)),
            check=_state_key,
            payload=_state,
        ),
        Request(
            "trigger",
            "POST",
            f"{OF}/trigger",
            "Call a function with a value, and show its result.",
            "--name copy --trigger-value hello",
            (
                *NAMED,
                _text("topic_name", "Input topic of the value.", "--topic", metavar="TOPIC"),
                _text("value", "Value to call it with.", "--trigger-value"),
                _text("file", "File with the value.", "--trigger-file", metavar="FILE"),
            ),
            Shown.VALUE,
            check=check_identity,
            payload=_trigger,
        ),
        Request(
            "upload",
            "POST",
            f"{ROOT}/upload",
            "Upload a file for functions.",
            "--source-file copy.jar --path public/default/copy.jar",
            (
                Field("source", "File to upload.", ("--source-file",), "FILE", In.NOWHERE),
                Field("path", "Path to store it at.", ("--path",), "PATH", In.NOWHERE),
            ),
            payload=_upload,
        ),
        Request(
            "download",
            "GET",
            ROOT,
            "Download the program of a function, or an uploaded file.",
            "--name copy --destination-file copy.jar",
            (
                *NAMED,
                Field("file", "File to write.", ("--destination-file",), "FILE", In.NOWHERE),
                Field("path", "Path of an uploaded file.", ("--path",), "PATH", In.QUERY, default=None),
                Field(
                    "transform",
                    "Download the transform function of a connector.",
                    ("--transform-function",),
                    "",
                    In.QUERY,
                    bool,
                    False,
                    "transform-function",
                ),
            ),
            check=_check_source,
            ending="{tenant}/{ns}/{name}/download",
            otherwise="download",
            into="file",
        ),
        Request("available-functions", "GET", f"{ROOT}/builtins", "List the builtin functions.", "", (), Shown.VALUE),
        Request("reload", "POST", f"{ROOT}/builtins/reload", "Load the builtin functions again.", ""),
    ),
)
