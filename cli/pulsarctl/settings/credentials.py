"""Settings -> the `Authorization` header of the admin API.

`authPlugin` and `authParams` are Pulsar's Java names; the two kinds that can be said in a header are token
and basic.
"""

import json
from base64 import b64encode
from pathlib import Path

from pulsarctl.errors import UsageProblem
from pulsarctl.settings.settings import Settings


def token(settings: Settings) -> str | None:
    """The token to present, from `--token`, `--token-file` or the parameters of the token plugin."""
    if settings.token:
        return settings.token
    if settings.token_file:
        return _read_token(settings.token_file)
    if settings.auth_params and _is(settings, "token"):
        return _token_of(settings.auth_params)
    return None


def authorization(settings: Settings) -> str | None:
    """The header's value, or None when nothing is configured. Raises `UsageProblem` for what cannot be used."""
    if found := token(settings):
        return f"Bearer {found}"
    if settings.auth_params and _is(settings, "basic"):
        user = json.loads(settings.auth_params)
        return "Basic " + b64encode(f"{user['userId']}:{user['password']}".encode()).decode()
    return None


def _is(settings: Settings, kind: str) -> bool:
    """No plugin named and `token:` parameters are what pulsar-client accepts as a token, too."""
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
