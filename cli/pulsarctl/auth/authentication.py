"""The authentication of a client: none, token, basic, or tls, as its settings choose.

`data` is what the binary protocol sends in CONNECT and AUTH_RESPONSE, and `header` is the `Authorization` of HTTP. Both
are asked for each connection or request, so a new token in a file is used without a restart.
"""

from base64 import b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pulsarctl.auth import plugins
from pulsarctl.errors import NotAuthorized, UsageProblem
from pulsarctl.settings.client_security import ClientSecurity

if TYPE_CHECKING:
    import ssl

    from pulsarctl.auth.oauth2 import ClientCredentials


class Authentication(Protocol):
    @property
    def method(self) -> str:
        """The name on the wire; empty for none."""

    def data(self) -> bytes:
        """Raises `UsageProblem`, or what fetching a token raises."""

    def header(self) -> str | None:
        """Raises what `data` raises."""


class NoAuthentication(NamedTuple):
    method: str = ""

    def data(self) -> bytes:
        return b""

    def header(self) -> str | None:
        return None


class CertificateAuthentication(NamedTuple):
    """The certificate of the TLS connection."""

    certificate_file: str
    key_file: str
    method: str = "tls"

    def data(self) -> bytes:
        return b""

    def header(self) -> str | None:
        return None


class TokenAuthentication(NamedTuple):
    source: Callable[[], str]
    method: str = "token"

    def token(self) -> str:
        """Raises `UsageProblem` for text that cannot be a token, without showing it."""
        token = self.source().strip()
        if not token.isascii() or not token.isprintable() or " " in token:
            raise UsageProblem("cannot authenticate: the token has blanks or special characters; is it the right file?")
        return token

    def data(self) -> bytes:
        return self.token().encode()

    def header(self) -> str | None:
        return f"Bearer {self.token()}"


class PasswordAuthentication(NamedTuple):
    user: str
    source: Callable[[], str]
    method: str = "basic"

    def data(self) -> bytes:
        return f"{self.user}:{self.source()}".encode()

    def header(self) -> str | None:
        return "Basic " + b64encode(self.data()).decode()


def authentication_of(security: ClientSecurity) -> Authentication:
    """Reads no file and connects to nothing yet. Raises `UsageProblem`."""
    if (token := security.token) is not None:
        return TokenAuthentication(lambda: token)
    if (path := security.token_file) is not None:
        return TokenAuthentication(lambda: plugins.read_secret(path, "token"))
    if security.user is not None or security.password_file is not None:
        return _password(security)
    if security.issuer_endpoint is not None:
        return _access_token(security)
    if security.auth_plugin or security.auth_params:
        return _plugin(security, plugins.plugin_kind(security.auth_plugin), security.auth_params or "")
    return _certificate(security.tls_cert_file, security.tls_key_file)


def certificate_pair(security: ClientSecurity) -> tuple[str, str] | None:
    """The files of the client certificate and its key. Those of the plugin outweigh those of the connection."""
    authentication = authentication_of(security)
    if not isinstance(authentication, CertificateAuthentication):
        authentication = _certificate(security.tls_cert_file, security.tls_key_file)
    return (
        (authentication.certificate_file, authentication.key_file)
        if isinstance(authentication, CertificateAuthentication)
        else None
    )


def not_accepted(url: str, authentication: Authentication) -> NotAuthorized:
    """The error for a server that refuses the credentials, or wants some."""
    if not authentication.method:
        hint = (
            "authenticate with --token-file FILE, --user NAME --password-file FILE, or --tls-cert FILE --tls-key FILE"
        )
        return NotAuthorized(f"cannot use {url}: it requires authentication", hint=hint, request=url)
    return NotAuthorized(
        f"cannot use {url}: it does not accept the credentials (method {authentication.method})",
        hint="check the credentials; 'pulsarctl context show --resolved' shows their source",
        request=url,
    )


def _password(security: ClientSecurity) -> Authentication:
    if not security.user or not security.password_file:
        missing = "--password-file FILE" if security.user else "--user NAME"
        raise UsageProblem(
            "cannot authenticate with a password: the user name or the password file is missing",
            hint=f"specify {missing}",
        )
    path = security.password_file
    return _basic(security.user, lambda: plugins.read_secret(path, "password"))


def _basic(user: str, source: Callable[[], str]) -> Authentication:
    if ":" in user:
        raise UsageProblem(f"cannot authenticate as '{user}': a user name has no colon")
    return PasswordAuthentication(user, source)


def _certificate(certificate_file: str | None, key_file: str | None) -> Authentication:
    if certificate_file and key_file:
        return CertificateAuthentication(certificate_file, key_file)
    if certificate_file or key_file:
        missing = "--tls-key FILE" if certificate_file else "--tls-cert FILE"
        raise UsageProblem(
            "cannot use the client certificate: the certificate or its key is missing", hint=f"specify {missing}"
        )
    return NoAuthentication()


def _access_token(security: ClientSecurity) -> Authentication:
    from pulsarctl.auth.oauth2 import ClientCredentials

    return _oauth2(
        security,
        ClientCredentials(
            security.issuer_endpoint or "",
            security.key_file or "",
            client_id=security.client_id or "",
            audience=security.audience or "",
            scope=security.scope or "",
        ),
    )


def _oauth2(security: ClientSecurity, credentials: "ClientCredentials") -> Authentication:
    from pulsarctl.auth.oauth2 import AccessToken

    issuer = ClientSecurity(
        tls_trust_cert_path=security.tls_trust_cert_path,
        tls_allow_insecure=security.tls_allow_insecure,
        tls_verify_hostname=security.tls_verify_hostname,
    )

    def context() -> "ssl.SSLContext":
        from pulsarctl.auth.tls import client_context

        return client_context(issuer, None, also_public=True)

    return TokenAuthentication(AccessToken(credentials, context))


def _plugin(security: ClientSecurity, kind: str, text: str) -> Authentication:
    if kind == "disabled":
        return NoAuthentication()
    name = plugins.PLUGINS[kind]
    if kind == "token":
        if not text.strip():
            raise UsageProblem("cannot authenticate with a token: none is given", hint="specify --token-file FILE")
        return TokenAuthentication(plugins.token_source(text))
    parameters = plugins.parameters(text, name)
    if kind == "basic":
        password = plugins.required(parameters, name, "password")
        return _basic(plugins.required(parameters, name, "userId", "username"), lambda: password)
    if kind == "tls":
        certificate = parameters.get("tlsCertFile") or security.tls_cert_file
        return _certificate(certificate, parameters.get("tlsKeyFile") or security.tls_key_file)
    from pulsarctl.auth.oauth2 import ClientCredentials

    return _oauth2(
        security,
        ClientCredentials(
            plugins.required(parameters, name, "issuerUrl", "issuer_url"),
            parameters.get("privateKey") or parameters.get("private_key") or "",
            client_id=parameters.get("clientId") or parameters.get("client_id") or "",
            client_secret=parameters.get("clientSecret") or parameters.get("client_secret") or "",
            audience=parameters.get("audience", ""),
            scope=parameters.get("scope", ""),
        ),
    )
