"""One file of YAML or JSON -> its documents, with the line of each key, and with variables replaced.

The values are those of JSON, as in YAML 1.2: `on`, `1:30`, and dates are text. A variable is replaced after the
structure is known, so that its value can be any text, but never a new key. Keys that occur twice and merge keys are
refused, and aliases cannot make a small file large.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from pulsarctl.errors import UsageProblem
from pulsarctl.values import json_text

DEPTH_MAX = json_text.DEPTH_MAX + 10  # a file has the definition of a schema inside its topic
MERGE = "<<"
ALIASED_MAX = 1_000_000  # values that aliases may add
# Files come from pull requests: only what was meant for them may be read, as with `TF_VAR_` in Terraform.
VARIABLES = "PULSARCTL_VAR_"
LONGEST_NUMBER = 310  # characters, of the largest rate, which is a Java double
Mark = tuple[str, int]  # file and line, from 1
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_REFERENCE = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{")
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FRACTION = re.compile(r"[-+]?[0-9]*\.[0-9]+([eE][-+]?[0-9]+)?")
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}


class Map(dict[str, Any]):
    """An object of a document, and where each of its keys is."""

    __slots__ = ("marks",)

    def __init__(self) -> None:
        super().__init__()
        self.marks: dict[str, Mark] = {}

    def put(self, key: str, value: Any, mark: Mark) -> None:
        self[key] = value
        self.marks[key] = mark


def parse(text: str, name: str, variables: Mapping[str, str]) -> list[Map]:
    """The documents of a file. `${NAME}` is `PULSARCTL_VAR_NAME` in `variables`.

    Raises `UsageProblem` with the file and the line.
    """
    try:
        nodes = list(yaml.compose_all(text, Loader=_LOADER))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UsageProblem(f"cannot read {name}:{line}: {error.problem}", hint="check the YAML of this line") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise UsageProblem(f"cannot read {name}: {error}") from error
    reader = _Reader(name, variables, len(text) + ALIASED_MAX)  # each value in the text has a character or more
    return [reader.document(node) for node in nodes if node is not None]


@dataclass(slots=True)
class _Reader:
    """Reads one file."""

    file: str
    variables: Mapping[str, str]
    values_left: int

    def document(self, node: yaml.Node) -> Map:
        value = self._value(node, 0)
        if value is None:
            return Map()
        if not isinstance(value, Map):
            raise self._wrong(node, "a document has keys such as tenants, namespaces, and topics")
        return value

    def _value(self, node: yaml.Node, depth: int) -> Any:
        self.values_left -= 1
        if depth > DEPTH_MAX:
            raise self._wrong(node, f"more than {DEPTH_MAX} objects inside each other")
        if self.values_left < 0:
            raise self._wrong(node, f"aliases (*name) repeat more than {ALIASED_MAX:,} values")
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, depth + 1) for item in node.value]
        members = Map()
        for key, value in node.value:
            name = self._key(key, members)
            members.put(name, self._value(value, depth + 1), (self.file, key.start_mark.line + 1))
        return members

    def _key(self, node: yaml.Node, members: Map) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self._wrong(node, "a key must be text")
        name = self._replaced(node)
        if name == MERGE and not node.style:
            raise self._wrong(node, "merge keys (<<) are not supported: repeat the keys, or use an overlay")
        if name in members:
            raise self._wrong(node, f"'{name}' is defined twice, first in line {members.marks[name][1]}")
        return name

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        text = self._replaced(node)
        # quoted, or a block; libyaml has no style for a plain scalar, and Python's loader None
        return text if node.style else _plain(text)

    def _replaced(self, node: yaml.ScalarNode) -> str:
        text = str(node.value)
        return _REFERENCE.sub(lambda match: self._variable(node, match), text) if "${" in text else text

    def _variable(self, node: yaml.Node, match: re.Match[str]) -> str:
        name = match[1]
        if match[0] == "$${":
            return "${"
        if name is None:
            raise self._wrong(node, "'${' starts no variable: write ${NAME}, or $${ for the text ${")
        variable = f"{VARIABLES}{name}"
        if variable not in self.variables:
            raise self._wrong(node, f"the environment variable {variable} is not set; for the text ${{ write $${{")
        return self.variables[variable]

    def _wrong(self, node: yaml.Node, why: str) -> UsageProblem:
        return UsageProblem(f"{self.file}:{node.start_mark.line + 1}: {why}")


def _plain(text: str) -> Any:
    """The value of text without quotes."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _WHOLE.fullmatch(text) and len(text) <= LONGEST_NUMBER:
        return int(text)
    return float(text) if _FRACTION.fullmatch(text) else text


def mark_of(document: Map, path: tuple[str, ...]) -> Mark | None:
    """The mark of a path, or of the last part of it that has one."""
    mark: Mark | None = None
    place: Any = document
    for key in path:
        if not isinstance(place, Map) or key not in place.marks:
            return mark
        mark, place = place.marks[key], place[key]
    return mark


def escaped(value: Any) -> Any:
    """A value so that `parse` reads it back without replacing a variable."""
    if isinstance(value, str):
        return value.replace("${", "$${")
    if isinstance(value, Mapping):
        return {escaped(key): escaped(member) for key, member in value.items()}
    return [escaped(member) for member in value] if isinstance(value, list) else value


def written(value: Any) -> Iterator[str]:
    """A document as YAML, in pieces. Text that `parse` would read as another value has quotes."""
    dumper = type("Dumper", (getattr(yaml, "CSafeDumper", yaml.SafeDumper),), {"ignore_aliases": lambda *_: True})
    dumper.add_representer(str, _quoted)  # type: ignore[attr-defined]  # of yaml's own dumpers
    for key, member in value.items():
        yield yaml.dump({key: member}, Dumper=dumper, sort_keys=False, allow_unicode=True, default_flow_style=False)


def _quoted(dumper: Any, text: str) -> yaml.Node:
    """YAML 1.1, which the library writes, has other numbers and words than 1.2."""
    style = None if isinstance(_plain(text), str) and text != MERGE else "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)  # type: ignore[no-any-return]  # no types
