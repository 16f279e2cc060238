"""The shapes of values in documents: what is accepted, how it is stored, and how an editor learns of it. Pure.

One declaration serves three readers. `read` checks what a person wrote and turns `7d` into the number that Pulsar
stores. `stored` brings the same value from a broker into the same form, so that the two can be compared. `json_schema`
describes the shape to editors.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from typing import Any, Protocol

from pulsarctl.errors import UsageProblem
from pulsarctl.values.quantities import parse_duration, parse_seconds, parse_size

Path = tuple[str, ...]
Report = Callable[[Path, str], None]  # gets the place of a mistake, and what is wrong
JsonSchema = dict[str, Any]
REQUIRED: Any = ...
VARIABLE = r"\$\{[A-Za-z_][A-Za-z0-9_]*\}"  # an editor sees a document before variables are replaced
_FROM_ENVIRONMENT: JsonSchema = {"type": "string", "pattern": VARIABLE}


class ValueShape(Protocol):
    def read(self, value: Any, at: Path, report: Report) -> Any:
        """The value as it is stored. Reports each mistake; the result then means nothing."""

    def stored(self, value: Any) -> Any:
        """A broker's value in the form of `read`; None if it says that nothing is set."""

    def json_schema(self) -> JsonSchema:
        """JSON Schema, draft 2020-12."""


class Unit(Enum):
    """The unit of a number as Pulsar stores it. A person may write it with another one."""

    NONE = "a number"
    SECONDS = "a number of seconds, or a duration such as 10s, 5m, 2h, or 7d"
    MINUTES = "a number of minutes, or a duration such as 30m, 2h, or 7d"
    MILLISECONDS = "a number of milliseconds, or a duration such as 500ms, 10s, or 1h"
    SIZE = "a number of bytes, or a size such as 10K, 5M, 1G, or 1T"
    MEBIBYTES = "a number of MiB, or a size such as 512M, 10G, or 1T"

    def parse(self, text: str) -> int:
        """The number for a text with a unit. Raises `UsageProblem`, also for a fraction of what Pulsar stores."""
        match self:
            case Unit.SIZE:
                return parse_size(text)
            case Unit.MEBIBYTES:
                return _whole(parse_size(text), 1 << 20, text, "MiB")
            case Unit.MINUTES:
                return _whole(parse_seconds(text), 60, text, "minutes")
            case Unit.MILLISECONDS:
                return round(parse_duration(text) * 1000)
            case _:
                return parse_seconds(text)


def _whole(amount: int, size: int, text: str, unit: str) -> int:
    if amount > 0 and amount % size:
        raise UsageProblem(f"'{text}' is not a whole number of {unit}, and Pulsar stores no fractions")
    return amount // size if amount > 0 else amount


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number of `least` or more, or any number if not `whole`; a text with a unit if it has one.

    Where -1 means no limit, Pulsar stores every negative number, and takes it for the same.
    """

    unit: Unit = Unit.NONE
    least: int | None = 0
    whole: bool = True

    def read(self, value: Any, at: Path, report: Report) -> Any:
        number = self._of_text(value, at, report) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, int if self.whole else (int, float)):
            report(at, f"expected {self.unit.value}, got {shown(value)}")
        elif self.least is not None and number < self.least:
            report(at, f"expected {self.least} or more, got {shown(value)}")
        return number

    def _of_text(self, text: str, at: Path, report: Report) -> Any:
        if re.fullmatch(r"-?\d{1,19}", text):  # in JSON, a variable can only be inside quotes
            return int(text)
        if self.unit is Unit.NONE:
            return text
        try:
            return self.unit.parse(text)
        except UsageProblem as problem:
            report(at, problem.message)
            return self.least or 0

    def stored(self, value: Any) -> Any:
        number = int(value) if isinstance(value, float) and value.is_integer() else value
        return -1 if self.least == -1 and isinstance(number, int) and number < 0 else number

    def json_schema(self) -> JsonSchema:
        number: JsonSchema = {"type": "integer" if self.whole else "number"}
        if self.least is not None:
            number["minimum"] = self.least
        text = _FROM_ENVIRONMENT if self.unit is Unit.NONE else {"type": "string"}
        return {"anyOf": [number, text], "description": self.unit.value.capitalize() + "."}


@dataclass(frozen=True, slots=True)
class Truth:
    """True or false."""

    def read(self, value: Any, at: Path, report: Report) -> Any:
        truth = {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value
        if not isinstance(truth, bool):
            report(at, f"expected true or false, got {shown(value)}")
        return truth

    def stored(self, value: Any) -> Any:
        return value

    def json_schema(self) -> JsonSchema:
        return {"anyOf": [{"type": "boolean"}, _FROM_ENVIRONMENT]}


@dataclass(frozen=True, slots=True)
class Text:
    """One of `choices`, if there are any, in any case and with `_` for `-`; else any text."""

    choices: tuple[str, ...] = ()

    def read(self, value: Any, at: Path, report: Report) -> Any:
        if not isinstance(value, str):
            report(at, f"expected text, got {shown(value)}; put it in quotes")
        elif self.choices and self.stored(value) not in self.choices:
            report(at, f"expected one of {', '.join(self.choices)}, got {shown(value)}")
        return self.stored(value)

    def stored(self, value: Any) -> Any:
        if not self.choices or not isinstance(value, str):
            return value
        return next((choice for choice in self.choices if _folded(choice) == _folded(value)), value)

    def json_schema(self) -> JsonSchema:
        if not self.choices:
            return {"type": "string"}
        return {"anyOf": [{"enum": list(self.choices)}, _FROM_ENVIRONMENT]}


@dataclass(frozen=True, slots=True)
class Names:
    """A list of different names without an order, with `least` of them or more."""

    choices: tuple[str, ...] = ()
    least: int = 0

    def read(self, value: Any, at: Path, report: Report) -> Any:
        if not isinstance(value, list):
            report(at, f"expected a list of names, got {shown(value)}")
            return []
        if len(value) < self.least:
            report(at, "the list is empty: name one or more, or leave the key out")
        texts = [Text(self.choices).read(item, at, report) for item in value]
        return self.stored([text for text in texts if isinstance(text, str)])

    def stored(self, value: Any) -> Any:
        folded = {Text(self.choices).stored(item) for item in value or []}
        return sorted(folded, key=self.choices.index if folded <= set(self.choices) else None)

    def json_schema(self) -> JsonSchema:
        least = {"minItems": self.least} if self.least else {}
        return {"type": "array", "items": Text(self.choices).json_schema(), "uniqueItems": True} | least


@dataclass(frozen=True, slots=True)
class Anything:
    """Any value, such as the definition of a schema."""

    def read(self, value: Any, at: Path, report: Report) -> Any:
        return value

    def stored(self, value: Any) -> Any:
        return value

    def json_schema(self) -> JsonSchema:
        return {}


@dataclass(frozen=True, slots=True)
class Member:
    """`default` is stored where the member is absent: REQUIRED for none, None to leave it absent.

    `implied`: the value that brokers show for a member that is absent. The two are not distinguished.
    """

    name: str
    shape: ValueShape
    default: Any = None
    help: str = ""
    implied: Any = None


@dataclass(frozen=True, slots=True)
class Fields:
    """An object with known members. `label` names it in messages, such as `policy of a topic`."""

    members: tuple[Member, ...]
    label: str = "key"
    by_name: Mapping[str, Member] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {member.name: member for member in self.members})

    def read(self, value: Any, at: Path, report: Report) -> Any:
        if not isinstance(value, dict):
            report(at, f"expected an object with {', '.join(self.by_name)}, got {shown(value)}")
            return {}
        for name in value:
            if name not in self.by_name:
                report((*at, name), f"unknown {self.label} '{name}'{_meant(name, self.by_name)}")
        for name, member in self.by_name.items():
            if member.default is REQUIRED and value.get(name) is None:
                report(at, f"'{name}' is missing")
        members = {
            name: member.shape.read(value[name], (*at, name), report) if value.get(name) is not None else member.default
            for name, member in self.by_name.items()
        }
        return self._without_implied(members)

    def stored(self, value: Any) -> Any:
        document = value if isinstance(value, Mapping) else {}
        known = {
            name: member.default if document.get(name) is None else member.shape.stored(document[name])
            for name, member in self.by_name.items()
        }
        return self._without_implied(known)

    def _without_implied(self, members: dict[str, Any]) -> dict[str, Any]:
        absent = (None, REQUIRED)
        return {name: member for name, member in members.items() if member not in (*absent, self.by_name[name].implied)}

    def json_schema(self) -> JsonSchema:
        properties = {}
        for member in self.members:
            properties[member.name] = member.shape.json_schema() | ({"description": member.help} if member.help else {})
        schema: JsonSchema = {"type": "object", "additionalProperties": False, "properties": properties}
        required = [member.name for member in self.members if member.default is REQUIRED]
        return schema | ({"required": required} if required else {})


@dataclass(frozen=True, slots=True)
class Named:
    """An object whose members have names of the user's choice. `check` returns what is wrong with a name."""

    shape: ValueShape
    label: str
    check: Callable[[str], str | None] | None = None
    nullable: bool = False  # a name without a value stands for an empty object

    def read(self, value: Any, at: Path, report: Report) -> Any:
        if not isinstance(value, dict):
            report(at, f"expected an object with one key for each {self.label}, got {shown(value)}")
            return {}
        members = {}
        for name, member in value.items():
            wrong = self.check(name) if self.check is not None else None
            if wrong is not None:
                report((*at, name), wrong)
            members[name] = self.shape.read({} if member is None and self.nullable else member, (*at, name), report)
        return members

    def stored(self, value: Any) -> Any:
        return {name: self.shape.stored(member) for name, member in (value or {}).items()}

    def json_schema(self) -> JsonSchema:
        inner = self.shape.json_schema()
        nullable = {"anyOf": [inner, {"type": "null"}]} if self.nullable else inner
        return {"type": "object", "additionalProperties": nullable}


def shown(value: Any) -> str:
    """A value in a message: short, and with its kind if the kind matters."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    cut = text if len(text) <= 60 else f"{text[:60]}..."
    return f"'{cut}'" if isinstance(value, str) else cut


def _folded(text: str) -> str:
    return text.lower().replace("_", "-")


def _meant(name: str, known: Mapping[str, Any]) -> str:
    similar = get_close_matches(name, list(known), n=1)
    return f"; did you mean '{similar[0]}'?" if similar else f"; use {', '.join(known)}"
