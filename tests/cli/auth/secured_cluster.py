"""A broker with TLS and every method of authentication, an OAuth 2.0 issuer, and the options of a super-user."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from urllib.parse import parse_qs

import bcrypt

from broker_core.config.tls import TlsConfig
from broker_core.testing import EmbeddedBroker
from pulsarctl.auth.plugins import PLUGINS
from tests.support.authority import Authority
from tests.support.http_stub import HttpStub, Reply, Request
from tests.support.secured import ADMIN, config, prepare, token

PASSWORD = "open sesame"
SECRET = "s3cr3t/+ of the client"  # of OAuth 2.0
PROVIDERS = "AuthenticationProviderToken,AuthenticationProviderBasic,AuthenticationProviderTls"


def start_broker(folder: Path, authority: Authority, **tls: object) -> EmbeddedBroker:
    """`tls` changes the configuration. The caller stops the broker."""
    certificate, key = authority.issue("server")
    users = folder / "htpasswd"
    users.write_text(f"{ADMIN}:{bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()}\n")
    listeners = TlsConfig(
        broker_port=0, web_port=0, certificate_file=str(certificate), key_file=str(key), trust_file=str(authority.file)
    )
    secured = dataclasses.replace(
        config(providers=PROVIDERS, basic_file=str(users), refresh_seconds=0.2),
        tls=dataclasses.replace(listeners, **tls),  # type: ignore[arg-type]  # the values are those of the fields
    )
    broker = EmbeddedBroker(config=secured).start()
    prepare(broker)
    return broker


def issuer() -> HttpStub:
    """Grants tokens of the super-user. `requests` has what clients asked for."""

    def answer(request: Request) -> Reply:
        if request.path == "/.well-known/openid-configuration":
            return Reply(200, {"token_endpoint": f"http://{request.headers['Host']}/token"})
        form = {name: values[0] for name, values in parse_qs(request.body).items()}
        if form.get("client_secret") != SECRET:
            return Reply(401, {"error": "invalid_client", "error_description": "who are you?"})
        return Reply(200, {"access_token": token(ADMIN), "expires_in": 3600, "token_type": "Bearer"})

    return HttpStub(answer)


class Credentials:
    """The files of a super-user, and the options that name them."""

    def __init__(self, folder: Path, authority: Authority, issuer_url: str) -> None:
        self.issuer_url = issuer_url
        self.token_file = _written(folder / "token", token(ADMIN) + "\n")
        self.password_file = _written(folder / "password", PASSWORD + "\n")
        self.key_file = _written(folder / "key.json", json.dumps({"client_id": "me", "client_secret": SECRET}))
        self.certificate, self.key = (str(one) for one in authority.issue("client", ADMIN))

    def options(self, method: str) -> list[str]:
        """The options of a command line."""
        return {
            "token": ["--token", token(ADMIN)],
            "token-file": ["--token-file", self.token_file],
            "password": ["--user", ADMIN, "--password-file", self.password_file],
            "certificate": ["--tls-cert", self.certificate, "--tls-key", self.key],
            "oauth2": ["--issuer-endpoint", self.issuer_url, "--key-file", self.key_file, "--audience", "pulsar"],
            **{f"plugin-{kind}": self.plugin(kind) for kind in PLUGINS if kind != "disabled"},
        }[method]

    def plugin(self, kind: str) -> list[str]:
        parameters = {
            "token": f"file://{self.token_file}",
            "basic": json.dumps({"userId": ADMIN, "password": PASSWORD}),
            "tls": f"tlsCertFile:{self.certificate},tlsKeyFile:{self.key}",
            "oauth2": json.dumps({"issuerUrl": self.issuer_url, "privateKey": f"file://{self.key_file}"}),
        }[kind]
        return ["--auth-plugin", PLUGINS[kind], "--auth-params", parameters]


METHODS = (
    *("token", "token-file", "password", "certificate", "oauth2"),
    *("plugin-token", "plugin-basic", "plugin-tls", "plugin-oauth2"),
)


def _written(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o600)
    return str(path)
