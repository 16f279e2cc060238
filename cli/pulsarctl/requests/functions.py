"""The parts that functions, sources, and sinks share: the name, the configuration, and the verbs of its life."""

from collections.abc import Callable
from functools import partial
from typing import Any

from pulsarctl.admin.form import Form
from pulsarctl.errors import UsageProblem
from pulsarctl.requests.fields import document
from pulsarctl.requests.request import Field, In, Request, Shown, Values
from pulsarctl.shell.arguments import csv
from pulsarctl.values.json_text import parse_json

Option = tuple[str, str, Any, str]  # spellings, member of the configuration, kind (str, int, bool, ..., dict), help
URL_SCHEMES = ("http://", "https://", "file://", "function://", "source://", "sink://", "builtin://")
RESOURCES: tuple[Option, ...] = (
    ("--cpu", "cpu", float, "CPU cores for each instance."),
    ("--ram", "ram", int, "Memory for each instance, in bytes."),
    ("--disk", "disk", int, "Disk space for each instance, in bytes."),
)
PACKAGE_HELP = {
    "source_type": ("Builtin source to run, instead of --archive.", "NAME"),
    "sink_type": ("Builtin sink to run, instead of --archive.", "NAME"),
}
COMMON: tuple[Option, ...] = (
    ("--classname", "className", str, "Name of the class to run."),
    ("--parallelism", "parallelism", int, "Number of instances."),
    (
        "--processing-guarantees",
        "processingGuarantees",
        str,
        "Delivery guarantee: ATLEAST_ONCE, ATMOST_ONCE, EFFECTIVELY_ONCE, or (functions only) MANUAL.",
    ),
    (
        "--custom-runtime-options",
        "customRuntimeOptions",
        str,
        "Options for the runtime, as text that the runtime interprets.",
    ),
    ("--log-topic", "logTopic", str, "Topic for the log of the instances."),
    ("--runtime-flags", "runtimeFlags", str, "Flags for the process of each instance, such as JVM options."),
    ("--secrets", "secrets", dict, "Secrets by name, as a JSON object."),
)
CONSUMING: tuple[Option, ...] = (  # what has input topics: functions and sinks
    ("-i --inputs", "inputs", list, "Comma-separated list of input topics."),
    ("--topics-pattern", "topicsPattern", str, "Regular expression for the input topics, instead of --inputs."),
    ("--input-specs", "inputSpecs", dict, "Consumer settings by input topic, as a JSON object."),
    ("--retain-ordering", "retainOrdering", bool, "Process messages in order."),
    ("--retain-key-ordering", "retainKeyOrdering", bool, "Process the messages of each key in order."),
    ("--auto-ack", "autoAck", str, "Whether the framework acknowledges messages: true or false."),
    ("--timeout-ms", "timeoutMs", int, "Time to process a message before it is redelivered, in milliseconds."),
    ("--dead-letter-topic", "deadLetterTopic", str, "Topic for messages that failed after all retries."),
)


def identity(kind: str) -> tuple[Field, ...]:
    fields = (
        Field("tenant", f"Tenant of the {kind}.", ("--tenant",), "TENANT", default="public"),
        Field("ns", f"Namespace of the {kind}, without its tenant.", ("--namespace",), "NAMESPACE", default="default"),
        Field("name", f"Name of the {kind}.", ("--name",), "NAME", default=None),
    )
    if kind != "function":
        return fields
    full = Field(
        "fqfn",
        "Tenant, namespace, and name, as TENANT/NAMESPACE/NAME.",
        ("--fqfn",),
        "NAME",
        In.NOWHERE,
        default=None,
    )
    return (*fields, full)


def check_identity(values: Values) -> None:
    """Raises `UsageProblem`."""
    if full := values.get("fqfn"):
        parts = str(full).split("/")
        if len(parts) != 3 or not all(parts):
            raise UsageProblem(f"'{full}' is not TENANT/NAMESPACE/NAME")
        values["tenant"], values["ns"], values["name"] = parts
    if not values["name"]:
        raise UsageProblem("no name given", hint="use --name NAME")


INSTANCE = Field("instance", "Number of one instance. Default: all.", ("--instance-id",), "N", default=None, kind=int)


def lifecycle(kind: str, root: str) -> tuple[Request, ...]:
    """The verbs to get, list, delete, start, stop, restart, and watch one."""
    namespace, fields = f"//admin/v3/{root}/{{tenant}}/{{ns}}", identity(kind)
    of_one = partial(Request, path=f"{namespace}/{{name}}", example="--name copy", check=check_identity)
    question = f"Delete {kind} {{tenant}}/{{ns}}/{{name}}?"
    return (
        of_one("get", "GET", summary=f"Show the configuration of a {kind}.", fields=fields, shown=Shown.VALUE),
        Request(
            "list",
            "GET",
            namespace,
            f"List the {kind}s of a namespace.",
            "--tenant public --namespace default",
            fields[:2],
            Shown.NAMES,
        ),
        of_one("delete", "DELETE", summary=f"Delete a {kind}.", fields=fields, question=question),
        of_one(
            "status",
            "GET",
            summary=f"Show the status of a {kind}.",
            fields=(*fields, INSTANCE),
            shown=Shown.VALUE,
            also=("getstatus",),
            ending="{instance}/status",
            otherwise="status",
        ),
        *(
            of_one(
                verb,
                "POST",
                summary=f"{verb.capitalize()} the instances of a {kind}.",
                fields=(*fields, INSTANCE),
                ending=f"{{instance}}/{verb}",
                otherwise=verb,
            )
            for verb in ("start", "stop", "restart")
        ),
    )


def config_fields(options: tuple[Option, ...], file: str, package: tuple[tuple[str, ...], ...]) -> tuple[Field, ...]:
    """The options of create and update; `package` are the options that name the program."""
    fields = []
    for spellings, key, kind, help in options:
        words = spellings.split()
        name = words[-1].lstrip("-").replace("-", "_")
        typed = str if kind in (dict, list) else kind
        metavar = "" if kind is bool else "SECRETS" if key == "secrets" else "VALUE"
        default: Any = False if kind is bool else None
        fields.append(Field(name, help, tuple(words), metavar, In.NOWHERE, typed, default, key))
    fields.append(
        Field("config", "Read the configuration from a YAML or JSON file.", (file,), "FILE", In.NOWHERE, default=None)
    )
    for spelled in package:
        name = spelled[-1].lstrip("-").replace("-", "_")
        help, shown = PACKAGE_HELP.get(name, ("Program to run: a file, or a URL such as builtin://NAME.", "FILE"))
        fields.append(Field(name, help, spelled, shown, In.NOWHERE, default=None))
    return tuple(fields)


def form_of(
    options: tuple[Option, ...], part: str, packages: tuple[str, ...], updates: bool
) -> Callable[[Values], Form]:
    """Computes the form of create or update: the configuration, and the program or its URL."""

    def made(values: Values) -> Form:
        form = Form()
        program = next((values[name] for name in packages if values.get(name)), None)
        config = configuration(options, values)
        if program is not None and str(program).startswith(URL_SCHEMES):
            form.text("url", program)
        elif program is not None:
            form.file("data", program)
        elif not updates:
            raise UsageProblem("no program given", hint=f"use --{packages[0]} FILE")
        return form.document(part, config)

    return made


def configuration(options: tuple[Option, ...], values: Values) -> dict[str, Any]:
    """The members of the file and, with precedence, those of the options. Raises `UsageProblem`."""
    config: dict[str, Any] = document(values["config"]) if values["config"] else {}
    for spellings, key, kind, _ in options:
        option = values[spellings.split()[-1].lstrip("-").replace("-", "_")]
        if option is None or option is False:
            continue
        if key in ("cpu", "ram", "disk"):
            config.setdefault("resources", {})[key] = option
        else:
            config[key] = _converted(key, option, kind)
    return config | {"tenant": values["tenant"], "namespace": values["ns"], "name": values["name"]}


def _converted(key: str, value: Any, kind: Any) -> Any:
    if kind is list:
        return csv([value])
    if kind is not dict:
        return value
    try:
        return parse_json(value)
    except ValueError as error:
        raise UsageProblem(f"{key} is not JSON: {error}") from error
