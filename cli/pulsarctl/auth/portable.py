"""Credentials for tasks on other machines, which do not have the files of this one."""

import json
from base64 import b64encode
from dataclasses import replace
from typing import Any

from pulsarctl.auth.authentication import PasswordAuthentication, TokenAuthentication, authentication_of
from pulsarctl.auth.plugins import PLUGINS, file_path, plugin_kind, read_secret
from pulsarctl.settings.client_security import METHOD_OF, ClientSecurity


def portable(security: ClientSecurity) -> ClientSecurity:
    """The same with the contents of its files, except certificates. Raises `UsageProblem` for a file that is unusable.

    Tasks of OAuth 2.0 get the key rather than a token, because a job may outlast a token.
    """
    kept = ClientSecurity.of(security)
    if security.issuer_endpoint is not None:
        path = security.key_file or ""
        return (
            kept if path.startswith("data:") else replace(kept, key_file=_data_url(read_secret(file_path(path), "key")))
        )
    if security.auth_plugin and plugin_kind(security.auth_plugin) == "oauth2":
        return kept
    authentication = authentication_of(security)
    nothing: dict[str, Any] = dict.fromkeys(METHOD_OF)
    bare = replace(kept, **nothing)
    match authentication:
        case TokenAuthentication():
            return replace(bare, token=authentication.token())
        case PasswordAuthentication(user=user, source=source):
            parameters = json.dumps({"userId": user, "password": source()})
            return replace(bare, auth_plugin=PLUGINS["basic"], auth_params=parameters)
    return kept


def _data_url(text: str) -> str:
    return "data:application/json;base64," + b64encode(text.encode()).decode()
