"""Fields that several tables of requests share."""

from pathlib import Path
from typing import Any

from pulsarctl.errors import UsageProblem
from pulsarctl.requests.request import REQUIRED, Field, In
from pulsarctl.shell.arguments import csv
from pulsarctl.values.choice import one_of
from pulsarctl.values.text_files import read_document

OF_NAMESPACE = "namespaces/{namespace}"  # the start of the path
NAMESPACE = Field("namespace", "Name of the namespace, as TENANT/NAMESPACE.", metavar="NAMESPACE")
TOPIC = Field("topic", "Name of the topic, as TOPIC, TENANT/NAMESPACE/TOPIC, or a persistent:// URL.", metavar="TOPIC")
CLUSTER = Field("cluster", "Name of the cluster.", metavar="CLUSTER")
SUBSCRIPTION = Field("subscription", "Name of the subscription.", ("-s", "--subscription"), "SUBSCRIPTION")
ACTIONS = ("produce", "consume", "sources", "sinks", "functions", "packages")
ROLE = Field("role", "Role to which the permission applies.", ("-r", "--role"), "ROLE")


def actions_of(texts: list[str]) -> list[str]:
    """Raises `UsageProblem`."""
    return [one_of(action, ACTIONS, "action") for action in csv(texts)]


ACTIONS_GIVEN = Field(
    "actions",
    f"Comma-separated list of {', '.join(ACTIONS)}.",
    ("-a", "--actions"),
    "ACTION,...",
    In.WHOLE,
    list[str],
    read=actions_of,
    words=ACTIONS,
)


def option(
    name: str, key: str, metavar: str, help: str, *spellings: str, default: Any = None, words: tuple[str, ...] = ()
) -> Field:
    """A member of the body."""
    spellings = spellings or ("--" + name.replace("_", "-"),)
    return Field(name, help, spellings, metavar, In.BODY, str, default, key, words=words)


def integer(name: str, key: str, help: str, *spellings: str, default: Any = None) -> Field:
    return Field(name, help, spellings or ("--" + name.replace("_", "-"),), "N", In.BODY, int, default, key)


def switch(name: str, key: str, help: str, *spellings: str, place: In = In.BODY) -> Field:
    """A flag, false if it is not given."""
    return Field(name, help, spellings or ("--" + name.replace("_", "-"),), "", place, bool, False, key)


def names(name: str, help: str, *spellings: str, place: In = In.WHOLE, default: Any = REQUIRED) -> Field:
    """A comma-separated list, which may be repeated."""
    return Field(name, help, spellings, "NAME,...", place, list[str], default, read=csv)


def document(path: str) -> dict[str, Any]:
    """An object from a file of JSON or YAML. Raises `UsageProblem`."""
    members = read_document(Path(path))
    if not isinstance(members, dict):
        raise UsageProblem(f"cannot use {path}: it does not contain an object")
    return members
