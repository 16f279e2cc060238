"""The token and the `Authorization` header of the admin API, from the settings.

`authPlugin` and `authParams` have Pulsar's Java names. A header can carry two kinds of credentials: token and basic.
"""

import json
from base64 import b64encode
from pathlib import Path

from pulsarctl.errors import UsageProblem
from pulsarctl.settings.settings import Settings


def token(settings: Settings) -> str | None:
    """The authentication token, from `--token`, `--token-file` or the parameters of the token plugin."""
    if settings.token:
        return settings.token
    if settings.token_file:
        return _read_token(settings.token_file)
    if settings.auth_params and _is(settings, "token"):
        return _token_of(settings.auth_params)
    return None


def authorization(settings: Settings) -> str | None:
    """The value of the header, or None if there are no credentials. Raises `UsageProblem`."""
    if found := token(settings):
        return f"Bearer {found}"
    if settings.auth_params and _is(settings, "basic"):
        user = json.loads(settings.auth_params)
        return "Basic " + b64encode(f"{user['userId']}:{user['password']}".encode()).decode()
    return None


def _is(settings: Settings, kind: str) -> bool:
    """Whether the plugin is of a kind. Like pulsar-client, takes parameters without a plugin for a token."""
    plugin = (settings.auth_plugin or "").rpartition(".")[2].lower().removeprefix("authentication")
    return plugin == kind or (not plugin and kind == "token")


def _token_of(parameters: str) -> str:
    if parameters.startswith("token:"):
        return parameters.removeprefix("token:")
    if parameters.startswith("file:"):
        return _read_token(parameters.removeprefix("file://").removeprefix("file:"))
    if parameters.startswith("{"):
        return str(json.loads(parameters)["token"])
    return parameters


def _read_token(path: str) -> str:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UsageProblem(f"cannot read the token file {path}: {error.strerror}") from error
