"""A verb that is one request: its path, its arguments and options, and what it prints."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from pulsarctl.admin.form import Form, Text
from pulsarctl.shell.headings import Heading
from pulsarctl.values.names import full_topic, namespace_path, scalable_path, segment, subscription_segment, topic_path

_PLACEHOLDER = re.compile(r"{(\w+)}")
Values = dict[str, Any]
REQUIRED: Any = ...


class In(Enum):
    """The part of the request that a value goes to. In BODY it is a member of the body; WHOLE is the body itself."""

    PATH = auto()
    QUERY = auto()
    BODY = auto()
    WHOLE = auto()
    NOWHERE = auto()


class Shown(Enum):
    """How the response is printed."""

    NOTHING = auto()
    VALUE = auto()
    MAP = auto()
    NAMES = auto()


@dataclass(frozen=True, slots=True)
class Field:
    """An argument, or with `spellings` an option.

    name   the parameter; in the path it is the placeholder, elsewhere `key` is its name in the API
    read   turns the text into the value that the API takes. Raises `UsageProblem`
    words  the values of an option that takes one of a few words
    """

    name: str
    help: str
    spellings: tuple[str, ...] = ()
    metavar: str = ""
    place: In = In.PATH
    kind: Any = str
    default: Any = REQUIRED
    key: str = ""
    read: Callable[[Any], Any] | None = None
    hidden: bool = False
    words: tuple[str, ...] = ()

    def value(self, values: Values) -> Any:
        value = values.get(self.name)
        return value if value is None or self.read is None else self.read(value)


@dataclass(frozen=True, slots=True)
class Request:
    """`path` follows /admin/v2 and has placeholders, each a field; another root starts with //.

    body      computes the body from all fields, where it is not the members in place BODY
    check     refuses what the fields cannot say. Raises `UsageProblem`
    question  asked before data is lost
    column    the heading of the names that it prints
    ending    what follows the path if the fields in it are given; `otherwise` follows if they are not
    payload   computes a body that is not JSON
    into      the field with the file to write the response to
    arranged  puts the answer in order, in every format
    in_table  the answer for a table, in words and units that people read
    """

    name: str
    method: str
    path: str
    summary: str
    example: str
    fields: tuple[Field, ...] = ()
    shown: Shown = Shown.NOTHING
    also: tuple[str, ...] = ()
    heading: Heading | None = None
    body: Callable[[Values], Any] | None = None
    check: Callable[[Values], None] | None = None
    question: str = ""
    column: str = "NAME"
    hidden: bool = False
    ending: str = ""
    otherwise: str = ""
    payload: Callable[[Values], Form | Text] | None = None
    into: str = ""
    arranged: Callable[[Any], Any] | None = None
    in_table: Callable[[Any], Any] | None = None


def target(row: Request, values: Values) -> str:
    """The path with its placeholders filled in. Raises `UsageProblem`."""
    filled = dict(values) | {field.name: field.value(values) for field in row.fields if field.place is In.PATH}
    is_longer = row.ending and all(filled[name] is not None for name in _PLACEHOLDER.findall(row.ending))
    ending = row.ending if is_longer else row.otherwise
    return _path(f"{row.path}/{ending}" if ending else row.path, filled)


def _path(path: str, values: Mapping[str, Any]) -> str:
    root, rest = ("/", path[2:]) if path.startswith("//") else ("/admin/v2/", path)
    return root + "/".join(_filled(part, values) for part in rest.split("/"))


def _filled(part: str, values: Mapping[str, Any]) -> str:
    if not part.startswith("{"):
        return part
    name = part[1:-1]
    return _SEGMENTS.get(name, segment)(str(values[name]))


def _without_domain(topic: str) -> str:
    return topic_path(full_topic(topic)).partition("/")[2]


_SEGMENTS: dict[str, Callable[[str], str]] = {
    "namespace": namespace_path,
    "topic": topic_path,
    "persistent_topic": _without_domain,  # for paths that imply the domain
    "scalable_topic": scalable_path,
    "subscription": subscription_segment,
}
