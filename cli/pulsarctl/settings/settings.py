"""What a command runs with: one frozen `Settings`, and where each value came from.

Strongest first: flag, context named by `--context` or `PULSARCTL_CONTEXT`, `PULSARCTL_*` environment, the
`client.conf` that `--config-file` or `PULSAR_CLIENT_CONF` names, the current context, `./client.conf` or
`conf/client.conf`, default. `origins` keeps the source of every value, because most failures of an admin tool
are about which broker it talked to.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from pulsarctl.errors import UsageProblem
from pulsarctl.output.render import Output
from pulsarctl.settings import client_conf, contexts
from pulsarctl.values.quantities import parse_duration

CONNECT_TIMEOUT_SECONDS = 10.0

Layer = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Settings:
    """Times are seconds. `service_url` is the binary protocol's address, `web_url` the admin API's."""

    service_url: str = "pulsar://localhost:6650"
    web_url: str = "http://localhost:8080"
    auth_plugin: str | None = None
    auth_params: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    token_file: str | None = None
    tls_trust_cert_path: str | None = None
    tls_allow_insecure: bool = False
    tls_verify_hostname: bool = True
    tls_cert_file: str | None = None
    tls_key_file: str | None = None
    request_timeout_seconds: float = 300.0
    embedded: Path | None = None
    lock_timeout_seconds: float = 30.0
    output: Output = Output.AUTO
    quiet: bool = False
    verbose: bool = False
    log_level: str = "error"
    origins: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    def origin(self, name: str) -> str:
        """Where the value of field `name` came from, as words: `--admin-url`, `context 'prod'`, `the default`."""
        return self.origins.get(name, "the default")


def resolve(flags: Mapping[str, Any], environ: Mapping[str, str], directory: Path) -> Settings:
    """Settings from flags (by field name, only those given), environment and the files they name.

    `directory` is where `client.conf` is looked for. Raises `UsageProblem` for a value that cannot be read.
    """
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    layers = list(_layers(flags, environ, directory))
    for label, layer in layers:
        for name, value in layer.items():
            if name not in values:
                values[name] = _convert(name, value, label)
                origins[name] = label
    _check_embedded(values, origins)
    return Settings(**values, origins=origins, notices=_notices(origins, layers))


def environment_variable(name: str) -> str:
    """`web_url` is set by `PULSARCTL_ADMIN_URL`, and so on: the flag's name in capitals."""
    return "PULSARCTL_" + _FLAG_NAMES.get(name, name).upper()


_FLAG_NAMES = {
    "web_url": "admin_url",
    "request_timeout_seconds": "request_timeout",
    "lock_timeout_seconds": "lock_timeout",
    "tls_verify_hostname": "tls_enable_hostname_verification",
}
_FROM_ENVIRONMENT = [
    item.name for item in fields(Settings) if item.name not in ("quiet", "verbose", "origins", "notices")
]
_BOOLEANS = ("tls_allow_insecure", "tls_verify_hostname", "quiet", "verbose")
_DURATIONS = ("request_timeout_seconds", "lock_timeout_seconds")
_CONNECTION = ("web_url", "service_url")
_SECRETS = ("token", "auth_params")  # a command line is seen by every user of the machine, and kept in a history


def _flag(name: str) -> str:
    return "--url" if name == "service_url" else "--" + _FLAG_NAMES.get(name, name).replace("_", "-")


def _layers(flags: Mapping[str, Any], environ: Mapping[str, str], directory: Path) -> Iterator[Layer]:
    """(label, values) from the strongest to the weakest."""
    given = {name: value for name, value in flags.items() if name not in ("context", "no_context", "config_file")}
    for name, value in given.items():
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
        if value not in list(Output):
            raise UsageProblem(f"{label}: there is no output '{value}'", hint="one of " + ", ".join(Output))
        return Output(value)
    return value


def _check_embedded(values: Mapping[str, Any], origins: Mapping[str, str]) -> None:
    """Raises `UsageProblem` for an address on the command line that the embedded broker would outweigh."""
    named = [origins[name] for name in _CONNECTION if origins.get(name, "").startswith("--")]
    if values.get("embedded") is not None and named:
        raise UsageProblem(
            f"{named[0]} and {origins['embedded']} exclude each other: an embedded broker has its own addresses",
            hint=f"leave out {named[0]}, or {origins['embedded']}",
        )


def _notices(origins: Mapping[str, str], layers: list[Layer]) -> tuple[str, ...]:
    """A variable that outvotes the selected context is the classic way to talk to the wrong cluster: say so."""
    hidden = [label for label, layer in layers if label.startswith("current context") and layer]
    decided = sorted({origins[name] for name in _CONNECTION if origins.get(name, "").startswith("PULSAR")})
    if not hidden or not decided:
        return ()
    return (f"notice: {', '.join(decided)} is set and outweighs the {hidden[0]}",)


def warnings(flags: Mapping[str, Any]) -> list[str]:
    """What is to be said of the options of a command line, whatever the command does with them."""
    return [
        f"warning: {_flag(name)} shows a secret to every user of this machine; "
        f"use --token-file FILE or the environment variable {environment_variable(name)}"
        for name in _SECRETS
        if name in flags
    ]
