"""A broker with TLS, authorization, and every method of authentication, and the credentials of its clients.

The folder of credentials is the same for the tests in all languages. In it, every good credential is one of a
super-user:

    ca.pem                     the authority that clients trust
    client.pem, client.key     a certificate of the role `admin`
    forged.pem, forged.key     the same of an authority that the broker does not trust
    two.pem, two.key           a trusted certificate with two common names, which is no role
    token                      a token of `admin` that never expires
    secret.key                 what signs tokens (HS256), for tests that need tokens with other claims
    oauth.json                 client credentials for the issuer, with its URL
    wrong-oauth.json           the same with a wrong secret
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import bcrypt

from tests.support.authority import Authority
from tests.support.broker_process import BrokerProcess
from tests.support.local_issuer import AUDIENCE, CLIENT, CLIENT_SECRET, LocalIssuer
from tests.support.proxy_process import ProxyProcess
from tests.support.secured import ADMIN, SECRET, token

PASSWORD = "open sesame"  # of the user `admin`
PROXY = "proxy"
REFRESH_SECONDS = 1
_PROVIDERS = ("Token", "oidc.AuthenticationProviderOpenID", "Basic", "Tls")


@dataclass(frozen=True)
class Secured:
    """The addresses of a broker, or of the proxy in front of it, and the folder of credentials.

    `plain_url` is the broker's address without TLS, and `pid` its process.
    """

    service_url: str
    admin_url: str
    folder: Path
    issuer_url: str
    plain_url: str = ""
    pid: int = 0

    @property
    def trust_file(self) -> str:
        return str(self.folder / "ca.pem")

    @property
    def token(self) -> str:
        return (self.folder / "token").read_text(encoding="utf-8")

    @property
    def variables(self) -> Mapping[str, str]:
        """What tells the tests in other languages about it."""
        return {
            "SECURED_SERVICE_URL": self.service_url,
            "SECURED_ADMIN_URL": self.admin_url,
            "SECURED_CREDENTIALS": str(self.folder),
            "SECURED_ISSUER_URL": self.issuer_url,
            "NODE_EXTRA_CA_CERTS": self.trust_file,
        }


@contextmanager
def secured_broker(scratch: Path, *settings: str) -> Iterator[Secured]:
    """`scratch` gets the data directory and the folder of credentials; `settings` are more of the broker's."""
    with credentials(scratch / "credentials") as made:
        folder = made.folder
        given = [*shared_settings(folder, made.issuer_url), *_listeners(folder, "brokerServicePortTls"), *settings]
        given += _UNDELAYED
        given += [f"proxyRoles={PROXY}", f"authenticationRefreshCheckSeconds={REFRESH_SECONDS}"]
        given += [f"brokerClientAuthenticationPlugin={TOKEN_PLUGIN}"]
        with BrokerProcess(scratch / "data", *given) as broker:
            urls = broker.service_url_tls, broker.http_url_tls
            yield Secured(*urls, folder, made.issuer_url, plain_url=broker.service_url, pid=broker.pid)


@contextmanager
def credentials(folder: Path) -> Iterator[Secured]:
    """The credentials alone, with the issuer of some of them, for a broker without addresses yet."""
    with LocalIssuer() as issuer:
        _create_credentials(folder, issuer.url)
        yield Secured("", "", folder, issuer.url)


@contextmanager
def secured_proxy(broker: Secured, log_path: Path) -> Iterator[Secured]:
    """A proxy that checks clients, with TLS on both sides. The role of the proxy is a super-user, too."""
    given = [*shared_settings(broker.folder, broker.issuer_url), *_listeners(broker.folder, "servicePortTls")]
    given += _UNDELAYED
    given += [f"authenticationRefreshCheckSeconds={REFRESH_SECONDS}", "tlsEnabledWithBroker=true"]
    given += [f"brokerClientTrustCertsFilePath={broker.trust_file}"]
    given += [f"brokerClientAuthenticationPlugin={TOKEN_PLUGIN}"]
    given += [f"brokerClientAuthenticationParameters=token:{token(PROXY)}"]
    with ProxyProcess(broker.service_url, broker.admin_url, log_path, *given) as proxy:
        yield Secured(proxy.service_url_tls, proxy.http_url_tls, broker.folder, broker.issuer_url)


TOKEN_PLUGIN = "org.apache.pulsar.client.impl.auth.AuthenticationToken"


def shared_settings(folder: Path, issuer_url: str) -> list[str]:
    """Who clients are, under the keys that brokers and proxies share, those of Apache Pulsar, too."""
    short = [name if "." in name else f"AuthenticationProvider{name}" for name in _PROVIDERS]
    return [
        "authenticationEnabled=true",
        "authorizationEnabled=true",
        "authenticationProviders=" + ",".join(f"org.apache.pulsar.broker.authentication.{name}" for name in short),
        f"superUserRoles={ADMIN},{PROXY},{CLIENT}",
        f"tokenSecretKey=file://{folder}/secret.key",
        f"basicAuthConf={folder}/htpasswd",
        f"openIDAllowedTokenIssuers={issuer_url}",
        f"openIDAllowedAudiences={AUDIENCE}",
        "openIDRequireIssuersUseHttps=false",
    ]


_UNDELAYED = [  # failed logins
    "maxFailedAuthenticationsPerIp=1000",
    "maxFailedAuthenticationsPerUser=1000",
    "failedAuthenticationsBeforeRefusal=0",
]


def _listeners(folder: Path, port_key: str) -> list[str]:
    return [
        f"{port_key}=0",
        "webServicePortTls=0",
        f"tlsCertificateFilePath={folder}/server.pem",
        f"tlsKeyFilePath={folder}/server.key",
        f"tlsTrustCertsFilePath={folder}/ca.pem",
    ]


def _create_credentials(folder: Path, issuer_url: str) -> None:
    authority = Authority(folder)
    authority.issue("server")
    authority.issue("client", ADMIN)
    authority.issue("two", ADMIN, "other")
    Authority(folder, "other").issue("forged", ADMIN)
    (folder / "secret.key").write_bytes(SECRET)
    (folder / "token").write_text(token(ADMIN), encoding="utf-8")
    password = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    (folder / "htpasswd").write_text(f"{ADMIN}:{password}\n", encoding="utf-8")
    for name, secret in (("oauth", CLIENT_SECRET), ("wrong-oauth", "wrong")):
        known = {"type": "client_credentials", "client_id": CLIENT, "client_secret": secret, "issuer_url": issuer_url}
        (folder / f"{name}.json").write_text(json.dumps(known), encoding="utf-8")
