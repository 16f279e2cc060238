"""`authPlugin` and `authParams` as Pulsar's clients write them: class names or short names, JSON or `key:value` pairs.

The official clients differ in the spellings that they take; all of them work here. A message of an error never
contains the parameters, which are secrets.
"""

import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

from pulsarctl.errors import UsageProblem
from pulsarctl.values.json_text import parse_json
from pulsarctl.values.text_files import read_text

PLUGINS = {
    "token": "org.apache.pulsar.client.impl.auth.AuthenticationToken",
    "basic": "org.apache.pulsar.client.impl.auth.AuthenticationBasic",
    "tls": "org.apache.pulsar.client.impl.auth.AuthenticationTls",
    "oauth2": "org.apache.pulsar.client.impl.auth.oauth2.AuthenticationOAuth2",
    "disabled": "org.apache.pulsar.client.impl.auth.AuthenticationDisabled",
}
_ELSEWHERE = {
    "keystoretls": "convert the key store to PEM, and use --tls-cert and --tls-key",
}


def plugin_kind(plugin: str | None) -> str:
    """A key of `PLUGINS`. Like pulsar-client, takes parameters without a plugin for a token. Raises `UsageProblem`."""
    if not plugin:
        return "token"
    kind = plugin.strip().rpartition(".")[2].lower().removeprefix("authentication")
    if kind in PLUGINS:
        return kind
    hint = _ELSEWHERE.get(kind, "use one of " + ", ".join(name.rpartition(".")[2] for name in PLUGINS.values()))
    raise UsageProblem(f"cannot authenticate with the plugin '{plugin}': it is not supported", hint=hint)


def parameters(text: str, plugin: str) -> dict[str, str]:
    """The members of a JSON object, or `key:value` pairs separated by commas. Raises `UsageProblem`."""
    if not text.lstrip().startswith("{"):
        pairs = (part.partition(":") for part in text.split(",") if part.strip())
        return {name.strip(): value.strip() for name, _, value in pairs}
    try:
        members = parse_json(text)
    except ValueError:
        raise _unusable(plugin, "they are not valid JSON") from None
    return {name: str(value) for name, value in members.items() if value is not None}


def required(members: dict[str, str], plugin: str, *names: str) -> str:
    """The value under the first of the names that is there. Raises `UsageProblem`."""
    for name in names:
        if members.get(name):
            return members[name]
    raise _unusable(plugin, f"{names[0]} is missing")


def token_source(text: str) -> Callable[[], str]:
    """The source of the token in the parameters of the token plugin; it is called for each connection.

    `token:TEXT`, `file:PATH` with 0 to 3 slashes, `env:NAME`, a JSON object with `token` or `file`, or the token.
    """
    if text.lstrip().startswith("{"):
        members = parameters(text, PLUGINS["token"])
        text = f"file:{members['file']}" if members.get("file") else required(members, PLUGINS["token"], "token")
    if text.startswith("file:"):
        path = file_path(text)
        return lambda: read_secret(path, "token")
    if text.startswith("env:"):
        variable = text.removeprefix("env:")
        return lambda: _variable(variable)
    token = text.removeprefix("token:")
    return lambda: token


def file_path(text: str) -> str:
    """The path in `file:PATH`, `file://PATH`, or PATH."""
    if not text.startswith("file:"):
        return text
    path = text.removeprefix("file:")
    return unquote(path.removeprefix("//")) if path.startswith("//") else path


def read_secret(path: str, kind: str) -> str:
    """The text of a file without blanks around it. Raises `UsageProblem`."""
    text = read_text(Path(path).expanduser(), f"the {kind} file {path}").strip()
    if not text:
        raise UsageProblem(f"cannot use the {kind} file {path}: it is empty")
    return text


def _variable(name: str) -> str:
    if value := os.environ.get(name, "").strip():
        return value
    raise UsageProblem(f"cannot authenticate: the environment variable {name} in authParams is not set")


def _unusable(plugin: str, reason: str) -> UsageProblem:
    name = plugin.rpartition(".")[2]
    return UsageProblem(f"cannot use the parameters of {name} (--auth-params, or authParams in client.conf): {reason}")
