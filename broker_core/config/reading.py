"""Reads the values of configuration keys from a file, the environment, and the command line, and gives them types.

A file is YAML (`.yaml`, `.yml`) or the unchanged `.conf` of a Pulsar release (`key=value` lines). Keys in it that the
process does not know are ignored and reported together in one line, because most of them configure components that do
not exist here. `missing_features` names those that ask for a feature. In the environment (`PULSARCTL_CONF_<key>`) and
on the command line (`-X key=value`) an unknown key is an error.
"""

import dataclasses
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from broker_core.config.sections import Sections
from broker_core.config.setting import Setting
from broker_core.errors import InvalidConfiguration

PREFIX = "PULSARCTL_CONF_"

_UNKNOWN_SHOWN = 5
_PROPERTY = re.compile(r"\s*(?P<key>[^\s=:]+)\s*[=:]?\s*(?P<value>.*?)\s*$", re.DOTALL)

Config = TypeVar("Config", bound=Sections)


class Entry(NamedTuple):
    """One value as the user wrote it: text or a YAML scalar, and a description of where it stands."""

    key: str
    value: Any
    source: str


class Gathered(NamedTuple, Generic[Config]):
    """`in_file`: everything in the file, known or not. `by_key`: the value of each known key that counts."""

    config: Config
    in_file: list[Entry]
    by_key: dict[str, Entry]
    warnings: tuple[str, ...]


def gather(
    defaults: Config,
    file: Path | None,
    *,
    environment: Mapping[str, str],
    options: Sequence[str],
    flags: Mapping[str, Any] | None,
    process: str,
) -> Gathered[Config]:
    """`defaults` with the values of all sources; raises `InvalidConfiguration` naming key, value, and source.

    `process` is what the configuration is for, in the text of a warning.
    """
    in_file = _read_file(file) if file else []
    known: dict[str, Setting] = {
        field.metadata["setting"].key: field.metadata["setting"] for _, field, _ in defaults.settings()
    }
    unknown = [entry.key for entry in in_file if entry.key not in known and entry.value is not None]
    strict = [*_from_environment(environment), *map(_option, options)]
    strict += [Entry(key, value, "the command line") for key, value in (flags or {}).items()]
    for entry in strict:
        if entry.key not in known:
            raise InvalidConfiguration(_unknown_key(entry, known))
    by_key = {entry.key: entry for entry in (*in_file, *strict) if _counts(entry, known.get(entry.key))}
    return Gathered(_build(defaults, by_key), in_file, by_key, _unknown_warning(file, unknown, process))


def _counts(entry: Entry, setting: Setting | None) -> bool:
    """In a file, a key without a value means the default, as in Pulsar's files, unless the setting says otherwise."""
    return setting is not None and (entry.value is not None or setting.empty is not None)


def _build(defaults: Config, by_key: Mapping[str, Entry]) -> Config:
    values: dict[str, dict[str, Any]] = {}
    for section, field, _default in defaults.settings():
        setting: Setting = field.metadata["setting"]
        if setting.key in by_key:
            values.setdefault(section, {})[field.name] = typed(by_key[setting.key], field.type, setting)
    changed = {name: dataclasses.replace(getattr(defaults, name), **fields) for name, fields in values.items()}
    return defaults.replace(**changed)


def named_file(environment: Mapping[str, str], variable: str) -> Path | None:
    """The file that an environment variable names."""
    named = environment.get(variable)
    return Path(named) if named else None


def typed(entry: Entry, kind: Any, setting: Setting) -> Any:
    """The value of a setting from its text; raises `InvalidConfiguration`."""
    if setting.empty is not None and entry.value in (None, ""):
        return setting.empty
    if kind is str:
        value: Any = str(entry.value)
    elif kind is bool:
        value = _boolean(entry)
    else:
        value = _number(entry, kind, setting.scale)
    if setting.choices and value not in setting.choices:
        raise _bad(entry, f"must be one of {', '.join(setting.choices)}")
    if setting.least is not None and value < setting.least:
        raise _bad(entry, f"must be at least {setting.least / setting.scale:g}")
    if setting.most is not None and value > setting.most:
        raise _bad(entry, f"must be at most {setting.most / setting.scale:g}")
    return value


def _boolean(entry: Entry) -> bool:
    if isinstance(entry.value, bool):
        return entry.value
    text = str(entry.value).lower()
    if text not in ("true", "false"):
        raise _bad(entry, "must be true or false")
    return text == "true"


def _number(entry: Entry, kind: type, scale: float) -> Any:
    try:
        if isinstance(entry.value, bool):
            raise ValueError
        number = kind(str(entry.value))
        if number != number or number in (float("inf"), float("-inf")):
            raise ValueError
    except ValueError:
        raise _bad(entry, "must be a whole number" if kind is int else "must be a number") from None
    return number if scale == 1 else kind(number * scale)


def _bad(entry: Entry, problem: str) -> InvalidConfiguration:
    return InvalidConfiguration(f"{entry.key} {problem}, not {str(entry.value)!r} ({entry.source})")


# Sources


def _read_file(file: Path) -> list[Entry]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidConfiguration(f"cannot read the configuration file {file}: {error}") from error
    return _read_yaml(file, text) if file.suffix in (".yaml", ".yml") else _read_properties(file, text)


def _read_yaml(file: Path, text: str) -> list[Entry]:
    import yaml  # takes 20 ms, which a start without a YAML file saves

    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InvalidConfiguration(f"{file} is not YAML: {' '.join(str(error).split())}") from error
    if content is None:
        return []
    if not isinstance(content, dict):
        raise InvalidConfiguration(f"{file} must hold one mapping of keys to values")
    return [Entry(str(key), value, str(file)) for key, value in content.items()]


def _read_properties(file: Path, text: str) -> list[Entry]:
    """Lines of a Java properties file."""
    entries = []
    for number, line in _logical_lines(text):
        matched = _PROPERTY.match(line)
        if matched:
            entries.append(Entry(matched["key"], matched["value"] or None, f"{file}, line {number}"))
    return entries


def _logical_lines(text: str) -> Iterable[tuple[int, str]]:
    """Lines without comments, each with its number; lines that end in a backslash are joined with the next."""
    joined, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if not joined and line.lstrip()[:1] in ("", "#", "!"):
            continue
        first = first or number
        joined += line.lstrip() if joined else line
        if joined.endswith("\\"):
            joined = joined[:-1]
            continue
        yield first, joined
        joined, first = "", 0
    if joined:
        yield first, joined


def _from_environment(environment: Mapping[str, str]) -> list[Entry]:
    return [
        Entry(name.removeprefix(PREFIX), value, f"environment variable {name}")
        for name, value in sorted(environment.items())
        if name.startswith(PREFIX)
    ]


def _option(text: str) -> Entry:
    key, separator, value = text.partition("=")
    if not separator:
        raise InvalidConfiguration(f"-X {text}: expected key=value")
    return Entry(key.strip(), value.strip(), f"-X {text}")


def _unknown_key(entry: Entry, known: Iterable[str]) -> str:
    folded = {key.lower(): key for key in known}
    near = difflib.get_close_matches(entry.key.lower(), folded, n=1)
    suggestion = f"; did you mean {folded[near[0]]}?" if near else ""
    return f"unknown key {entry.key!r} ({entry.source}){suggestion}"


def _unknown_warning(file: Path | None, unknown: Sequence[str], process: str) -> tuple[str, ...]:
    if not unknown:
        return ()
    names = ", ".join(unknown[:_UNKNOWN_SHOWN])
    more = f" and {len(unknown) - _UNKNOWN_SHOWN} more" if len(unknown) > _UNKNOWN_SHOWN else ""
    return (f"{file}: ignoring keys that {process} does not have: {names}{more}",)
