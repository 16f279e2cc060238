"""The settings of a command, in one frozen `Settings`, and the source of each value.

In order of precedence: flags, the context that `--context` or `PULSARCTL_CONTEXT` names, the `PULSARCTL_*` environment,
the `client.conf` that `--config-file` or `PULSAR_CLIENT_CONF` names, the current context, `./client.conf` or
`conf/client.conf`, and the defaults. `origins` has the source of each value, because the first question after a failure
is which broker it was.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from pulsarctl.errors import UsageProblem
from pulsarctl.output.render import Output
from pulsarctl.settings import client_conf, contexts
from pulsarctl.settings.client_security import METHOD_OF, METHODS, SECRETS, ClientSecurity
from pulsarctl.values.quantities import parse_duration

CONNECT_TIMEOUT_SECONDS = 10.0

Layer = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Settings(ClientSecurity):
    """Times are in seconds. `service_url` is for the binary protocol, and `web_url` for the admin API."""

    service_url: str = "pulsar://localhost:6650"
    web_url: str = "http://localhost:8080"
    request_timeout_seconds: float = 300.0
    embedded: Path | None = None
    lock_timeout_seconds: float = 30.0
    output: Output = Output.AUTO
    quiet: bool = False
    verbose: bool = False
    dry_run: bool = False
    log_level: str = "error"
    origins: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    def origin(self, name: str) -> str:
        """The source of a field's value, such as `--admin-url`, `context 'prod'`, or `the default`."""
        return self.origins.get(name, "the default")

    @property
    def has_one_source(self) -> bool:
        """Whether both addresses come from the command line, the environment, or the same file."""
        return len({_kind(self.origin(name)) for name in _CONNECTION}) == 1


def resolve(flags: Mapping[str, Any], environ: Mapping[str, str], directory: Path) -> Settings:
    """The settings from the given flags (by field name), the environment, and the files they name.

    `directory` may contain `client.conf`. Raises `UsageProblem` for an invalid value.
    """
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    layers = list(_layers(flags, environ, directory))
    ignored = _other_methods(layers)
    for label, layer in layers:
        for name, value in layer.items():
            if name not in values and name not in ignored:
                values[name] = _convert(name, value, label)
                origins[name] = label
    _check_embedded(values, origins)
    return Settings(**values, origins=origins, notices=_notices(origins, layers))


def of_context(name: str, flags: Mapping[str, Any], environ: Mapping[str, str], directory: Path) -> Settings:
    """The settings of another cluster: its context, and of the flags only those that are not about a cluster."""
    general = {key: value for key, value in flags.items() if key in _GENERAL}
    return resolve(general | {"context": name}, environ, directory)


def environment_variable(name: str) -> str:
    """The variable that sets a field: the name of its flag in capitals, such as `PULSARCTL_ADMIN_URL`."""
    return "PULSARCTL_" + _FLAG_NAMES.get(name, name).upper()


_FLAG_NAMES = {
    "web_url": "admin_url",
    "request_timeout_seconds": "request_timeout",
    "lock_timeout_seconds": "lock_timeout",
    "tls_verify_hostname": "tls_enable_hostname_verification",
}
_FROM_ENVIRONMENT = [
    item.name for item in fields(Settings) if item.name not in ("quiet", "verbose", "dry_run", "origins", "notices")
]
_BOOLEANS = ("tls_allow_insecure", "tls_verify_hostname", "quiet", "verbose", "dry_run")
_DURATIONS = ("request_timeout_seconds", "lock_timeout_seconds")
_CONNECTION = ("web_url", "service_url")
_GENERAL = ("request_timeout_seconds", "output", "quiet", "verbose", "dry_run", "log_level")


def _flag(name: str) -> str:
    return "--url" if name == "service_url" else "--" + _FLAG_NAMES.get(name, name).replace("_", "-")


def _layers(flags: Mapping[str, Any], environ: Mapping[str, str], directory: Path) -> Iterator[Layer]:
    """(label, values) in order of precedence."""
    options = {name: value for name, value in flags.items() if name not in ("context", "no_context", "config_file")}
    for name, value in options.items():
        yield _flag(name), {name: value}
    named = flags.get("context") or environ.get("PULSARCTL_CONTEXT")
    chosen = "--context" if flags.get("context") else "PULSARCTL_CONTEXT"
    file = None if flags.get("no_context") else contexts.ContextFile(contexts.default_path(environ))
    if file and named:
        yield f"context '{named}' ({chosen})", file.fields(named)
    for name in _FROM_ENVIRONMENT:
        if value := environ.get(environment_variable(name)):
            yield environment_variable(name), {name: value}
    yield from _conf_file(flags, environ)
    if file and not named and file.current:
        yield f"current context '{file.current}'", file.fields(file.current)
    for candidate in (directory / "client.conf", directory / "conf" / "client.conf"):
        if candidate.is_file():
            yield str(candidate.relative_to(directory)), client_conf.read(candidate)
            return


def _conf_file(flags: Mapping[str, Any], environ: Mapping[str, str]) -> Iterator[Layer]:
    if path := flags.get("config_file"):
        yield f"{path} (--config-file)", client_conf.read(Path(path))
    elif path := environ.get("PULSAR_CLIENT_CONF"):
        yield f"{path} (PULSAR_CLIENT_CONF)", client_conf.read(Path(path))


def _convert(name: str, value: Any, label: str) -> Any:
    if not isinstance(value, str):
        return value
    if name in _BOOLEANS:
        return value.lower() in ("true", "1", "yes")
    if name in _DURATIONS:
        return float(parse_duration(value))
    if name == "embedded":
        return Path(value)
    if name == "output":
        if value.lower() not in list(Output):
            raise UsageProblem(f"{label}: unknown output format '{value}'", hint="use one of " + ", ".join(Output))
        return Output(value.lower())
    return value


def _other_methods(layers: list[Layer]) -> set[str]:
    """The credentials that do not count: only one method does, and the first source that names any chooses it.

    Otherwise, a token in a context would outweigh a password on the command line. Raises `UsageProblem` if the command
    line names several methods.
    """
    chosen: dict[str, list[str]] = {}
    first = ""
    for label, layer in layers:
        kind = _kind(label)
        for name in layer:
            if name in METHOD_OF and first in ("", kind):
                first = kind
                chosen.setdefault(METHOD_OF[name], []).append(label)
    if not chosen:
        return set()
    if first == "--" and len(chosen) > 1:
        flags = " and ".join(labels[0] for labels in chosen.values())
        raise UsageProblem(f"cannot combine {flags}: they are different credentials", hint="use one of them")
    used = next(method for method in METHODS if method in chosen)
    return {name for name, method in METHOD_OF.items() if method != used}


def _kind(label: str) -> str:
    """The source of a value: one for all options, one for all variables, or a context or a file."""
    return next((prefix for prefix in ("--", "PULSARCTL_") if label.startswith(prefix)), label)


def _check_embedded(values: Mapping[str, Any], origins: Mapping[str, str]) -> None:
    """Raises `UsageProblem` for an address on the command line that the embedded broker would override."""
    named = [origins[name] for name in _CONNECTION if origins.get(name, "").startswith("--")]
    if values.get("embedded") is not None and named:
        raise UsageProblem(
            f"cannot combine {named[0]} and {origins['embedded']}: an embedded broker has its own addresses",
            hint=f"omit {named[0]} or {origins['embedded']}",
        )


def _notices(origins: Mapping[str, str], layers: list[Layer]) -> tuple[str, ...]:
    """A notice for a variable that overrides the selected context, a common way to reach the wrong cluster."""
    hidden = [label for label, layer in layers if label.startswith("current context") and layer]
    decided = sorted({origins[name] for name in _CONNECTION if origins.get(name, "").startswith("PULSAR")})
    if not hidden or not decided:
        return ()
    verbs = ("is", "overrides") if len(decided) == 1 else ("are", "override")
    return (f"notice: {' and '.join(decided)} {verbs[0]} set and {verbs[1]} the {hidden[0]}",)


def warnings(flags: Mapping[str, Any]) -> list[str]:
    """The warnings about the options of a command line, for any command."""
    return [
        f"warning: {_flag(name)} shows a secret to other users of this machine; "
        f"use --token-file FILE or the environment variable {environment_variable(name)}"
        for name in SECRETS
        if name in flags
    ]
