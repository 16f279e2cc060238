"""Where configuration comes from: defaults, then a file, then the environment, then the command line.

The file is YAML (`.yaml`, `.yml`) or the unchanged `standalone.conf` of a Pulsar release (`key=value` lines). Keys in
it that this broker does not know are ignored and reported together in one line, because most of them configure
components that do not exist here. In the environment (`PULSARCTL_CONF_<key>`) and on the command line (`-X key=value`)
an unknown key is an error. `PULSAR_STANDALONE_CONF` names the file if no other is given.
"""

import dataclasses
import difflib
import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from broker_core.config.broker import BrokerConfig
from broker_core.config.retention import check_retention
from broker_core.config.setting import Setting
from broker_core.errors import BrokerError, InvalidConfiguration

FILE_VARIABLE = "PULSAR_STANDALONE_CONF"
PREFIX = "PULSARCTL_CONF_"

_UNKNOWN_SHOWN = 5
_PROPERTY = re.compile(r"\s*(?P<key>[^\s=:]+)\s*[=:]?\s*(?P<value>.*?)\s*$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Given:
    """One value as given: text or a YAML scalar, and a description of where it stands."""

    key: str
    value: Any
    source: str


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """`warnings`: one line each, for the process that starts the broker to log once. `file`: None without a file."""

    config: BrokerConfig
    warnings: tuple[str, ...]
    file: Path | None


def load_config(
    file: Path | None = None,
    *,
    environment: Mapping[str, str],
    options: Sequence[str] = (),
    flags: Mapping[str, Any] | None = None,
) -> LoadedConfig:
    """Returns the configuration from all sources; raises `InvalidConfiguration` naming key, value, and source.

    `options` are the `key=value` texts of `-X`; `flags` holds values of other flags by their Pulsar key.
    """
    file = file or _file_of(environment)
    in_file = _read_file(file) if file else []
    known = {field.metadata["setting"].key for _section, field, _value in BrokerConfig().settings()}
    unknown = [given.key for given in in_file if given.key not in known]
    strict = [*_from_environment(environment), *map(_option, options)]
    strict += [Given(key, value, "the command line") for key, value in (flags or {}).items()]
    for given in strict:
        if given.key not in known:
            raise InvalidConfiguration(_unknown_key(given, known))
    by_key = {given.key: given for given in (*in_file, *strict) if given.key in known}
    config = _build(by_key)
    _refuse_exposure(config, in_file, by_key)
    warnings = [*_unknown_warning(file, unknown), *_risks(config, by_key)]
    return LoadedConfig(config, tuple(warnings), file)


def _build(by_key: Mapping[str, Given]) -> BrokerConfig:
    values: dict[str, dict[str, Any]] = {}
    for section, field, _default in BrokerConfig().settings():
        setting: Setting = field.metadata["setting"]
        if setting.key in by_key:
            values.setdefault(section, {})[field.name] = typed(by_key[setting.key], field.type, setting)
    fresh = BrokerConfig()
    changed = {name: dataclasses.replace(getattr(fresh, name), **fields) for name, fields in values.items()}
    config = fresh.replace(**changed)
    _check_retention(config, by_key)
    return config


def typed(given: Given, kind: Any, setting: Setting) -> Any:
    """The value of a setting from its text; raises `InvalidConfiguration`."""
    if kind is str:
        value: Any = str(given.value)
    elif kind is bool:
        value = _boolean(given)
    else:
        value = _number(given, kind, setting.scale)
    if setting.choices and value not in setting.choices:
        raise _bad(given, f"must be one of {', '.join(setting.choices)}")
    if setting.least is not None and value < setting.least:
        raise _bad(given, f"must be at least {setting.least / setting.scale:g}")
    if setting.most is not None and value > setting.most:
        raise _bad(given, f"must be at most {setting.most / setting.scale:g}")
    return value


def _boolean(given: Given) -> bool:
    if isinstance(given.value, bool):
        return given.value
    text = str(given.value).lower()
    if text not in ("true", "false"):
        raise _bad(given, "must be true or false")
    return text == "true"


def _number(given: Given, kind: type, scale: float) -> Any:
    try:
        if isinstance(given.value, bool):
            raise ValueError
        number = kind(str(given.value))
        if number != number or number in (float("inf"), float("-inf")):
            raise ValueError
    except ValueError:
        raise _bad(given, "must be a whole number" if kind is int else "must be a number") from None
    return number if scale == 1 else kind(number * scale)


def _bad(given: Given, problem: str) -> InvalidConfiguration:
    return InvalidConfiguration(f"{given.key} {problem}, not {str(given.value)!r} ({given.source})")


# Sources


def _file_of(environment: Mapping[str, str]) -> Path | None:
    named = environment.get(FILE_VARIABLE)
    return Path(named) if named else None


def _read_file(file: Path) -> list[Given]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidConfiguration(f"cannot read the configuration file {file}: {error}") from error
    return _read_yaml(file, text) if file.suffix in (".yaml", ".yml") else _read_properties(file, text)


def _read_yaml(file: Path, text: str) -> list[Given]:
    import yaml  # takes 20 ms, which a start without a YAML file saves

    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InvalidConfiguration(f"{file} is not YAML: {' '.join(str(error).split())}") from error
    if content is None:
        return []
    if not isinstance(content, dict):
        raise InvalidConfiguration(f"{file} must hold one mapping of keys to values")
    return [Given(str(key), value, str(file)) for key, value in content.items() if value is not None]


def _read_properties(file: Path, text: str) -> list[Given]:
    """Lines of a Java properties file; a key without a value means the default, as in Pulsar's files."""
    found = []
    for number, line in _logical_lines(text):
        matched = _PROPERTY.match(line)
        if matched and matched["value"]:
            found.append(Given(matched["key"], matched["value"], f"{file}, line {number}"))
    return found


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


def _from_environment(environment: Mapping[str, str]) -> list[Given]:
    return [
        Given(name.removeprefix(PREFIX), value, f"environment variable {name}")
        for name, value in sorted(environment.items())
        if name.startswith(PREFIX)
    ]


def _option(text: str) -> Given:
    key, separator, value = text.partition("=")
    if not separator:
        raise InvalidConfiguration(f"-X {text}: expected key=value")
    return Given(key.strip(), value.strip(), f"-X {text}")


# What is wrong or risky


def _unknown_key(given: Given, known: Iterable[str]) -> str:
    folded = {key.lower(): key for key in known}
    near = difflib.get_close_matches(given.key.lower(), folded, n=1)
    suggestion = f"; did you mean {folded[near[0]]}?" if near else ""
    return f"unknown key {given.key!r} ({given.source}){suggestion}"


def _unknown_warning(file: Path | None, unknown: Sequence[str]) -> list[str]:
    if not unknown:
        return []
    names = ", ".join(unknown[:_UNKNOWN_SHOWN])
    more = f" and {len(unknown) - _UNKNOWN_SHOWN} more" if len(unknown) > _UNKNOWN_SHOWN else ""
    return [f"{file}: ignoring keys that this broker does not have: {names}{more}"]


def _refuse_exposure(config: BrokerConfig, in_file: Iterable[Given], by_key: Mapping[str, Given]) -> None:
    """Ignoring what the user asks for would leave the broker open."""
    for given in in_file:
        if given.key == "tlsEnabled" and str(given.value).lower() == "true" and not config.tls.enabled:
            raise InvalidConfiguration(
                f"tlsEnabled=true ({given.source}) has no effect without a port: set brokerServicePortTls and"
                " webServicePortTls, or set it to false"
            )
    if _is_exposed(config) and not config.security.authentication and not config.security.allow_unauthenticated:
        raise InvalidConfiguration(
            f"bindAddress={config.server.bind_address} ({by_key['bindAddress'].source}): without authentication,"
            " everyone who can reach this address could read and change all data. Set authenticationEnabled=true"
            " (docs/security.md), or listen on a loopback address with --bind 127.0.0.1, or accept the risk with"
            " --allow-unauthenticated"
        )


def _is_exposed(config: BrokerConfig) -> bool:
    return bool(config.server.bind_address) and not _is_loopback(config.server.bind_address)


def _check_retention(config: BrokerConfig, by_key: Mapping[str, Given]) -> None:
    try:
        check_retention(config.policies.retention_minutes, config.policies.retention_mb)
    except BrokerError as error:
        keys = ("defaultRetentionTimeInMinutes", "defaultRetentionSizeInMB")
        places = ", ".join(f"{key}: {by_key[key].source}" for key in keys if key in by_key)
        raise InvalidConfiguration(f"{error} ({places})") from error


def _risks(config: BrokerConfig, by_key: Mapping[str, Given]) -> Iterable[str]:
    if not config.storage.journal_sync:
        source = by_key["journalSyncData"].source
        yield f"journalSyncData=false ({source}): a power failure can lose messages that the broker has confirmed"
    if _is_exposed(config) and not config.security.authentication:
        yield (
            f"bindAddress={config.server.bind_address} ({by_key['bindAddress'].source}): "
            "there is no authentication: everyone who can reach this address can read and change all data"
        )


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
