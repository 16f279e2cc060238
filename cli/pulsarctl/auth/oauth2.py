"""OAuth 2.0 client credentials (RFC 6749, section 4.4), as in Pulsar's AuthenticationOAuth2.

The issuer's discovery document names the token endpoint, which exchanges a client ID and secret for an access token.
The token travels to the broker as method `token`. It is fetched again after 90 % of its life, as in the Java client.
"""

import base64
import binascii
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlencode

from pulsarctl.auth.plugins import file_path, read_secret
from pulsarctl.errors import CannotConnect, CliError, NotAuthorized, UsageProblem
from pulsarctl.values.clock import monotonic
from pulsarctl.values.json_text import parse_json

if TYPE_CHECKING:
    import ssl

TIMEOUT_SECONDS = 10.0
ANSWER_BYTES_MAX = 1 << 20
USED_SHARE = 0.9  # of a token's life
DISCOVERY = "/.well-known/openid-configuration"


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """`key` is the path, `file:` URL, or `data:` URL of a JSON key file; `client_id` and `client_secret` replace it."""

    issuer_url: str
    key: str = field(default="", repr=False)
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    audience: str = ""
    scope: str = ""

    def form(self) -> dict[str, str]:
        """The fields of the request for a token. Raises `UsageProblem`."""
        key = {} if self.client_secret else _key_file(self.key)
        form = {
            "grant_type": "client_credentials",
            "client_id": self.client_id or key.get("client_id", ""),
            "client_secret": self.client_secret or key.get("client_secret", ""),
            "audience": self.audience,
            "scope": self.scope,
        }
        for name in ("client_id", "client_secret"):
            if not form[name]:
                raise UsageProblem(f"cannot authenticate with OAuth 2.0: the key file has no {name}")
        return {name: value for name, value in form.items() if value}


class AccessToken:
    """The access token, fetched when it is first needed, and again before it expires. Safe to share among threads."""

    def __init__(self, credentials: ClientCredentials, context: Callable[[], "ssl.SSLContext"]) -> None:
        self._credentials = credentials
        self._context = context
        self._lock = threading.Lock()  # so that connections that open together cause one request
        self._token = ""
        self._useful_until = 0.0

    def __call__(self) -> str:
        """Raises `UsageProblem`, `NotAuthorized`, or `CannotConnect`."""
        with self._lock:
            if not self._token or monotonic() >= self._useful_until:
                self._fetch()
            return self._token

    def _fetch(self) -> None:
        issuer, form = self._credentials.issuer_url.rstrip("/"), self._credentials.form()
        endpoint = self._answer(issuer + DISCOVERY).get("token_endpoint")
        if not isinstance(endpoint, str):
            raise CannotConnect(f"cannot get an access token: {issuer}{DISCOVERY} names no token_endpoint")
        answer = self._answer(endpoint, urlencode(form).encode())
        token, seconds = answer.get("access_token"), answer.get("expires_in")
        if not isinstance(token, str) or not token:
            raise CannotConnect(f"cannot get an access token: {endpoint} answered without one")
        self._token = token
        life = float(seconds) if isinstance(seconds, int | float) else float("inf")
        self._useful_until = monotonic() + life * USED_SHARE

    def _answer(self, url: str, form: bytes | None = None) -> dict[str, Any]:
        import urllib.error
        import urllib.request

        if not url.startswith(("https://", "http://")):
            raise UsageProblem(f"cannot get an access token from '{url}': it is not a web address")
        request = urllib.request.Request(url, form, {"Accept": "application/json"})  # noqa: S310  # checked above
        https = urllib.request.HTTPSHandler(context=self._context()) if url.startswith("https:") else None
        opener = urllib.request.build_opener(_no_redirects(), *filter(None, (https,)))
        try:
            with opener.open(request, timeout=TIMEOUT_SECONDS) as response:
                document = parse_json(response.read(ANSWER_BYTES_MAX))
        except urllib.error.HTTPError as error:
            raise _refused(url, error.code, error.read(ANSWER_BYTES_MAX)) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
            raise CannotConnect(f"cannot get an access token from {url}: {reason}", request=url) from None
        if not isinstance(document, dict):
            raise CannotConnect(f"cannot get an access token from {url}: the answer is not a JSON object", request=url)
        return document


def _no_redirects() -> Any:
    """A redirect would send the client's secret elsewhere."""
    import urllib.request

    class NoRedirects(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    return NoRedirects()


def _refused(url: str, status: int, body: bytes) -> CliError:
    """The error and its description are for people (RFC 6749, section 5.2)."""
    try:
        document = parse_json(body)
        reason = ": ".join(str(document[name]) for name in ("error", "error_description") if document.get(name))
    except (ValueError, TypeError, AttributeError):
        reason = ""
    kind = NotAuthorized if status in (400, 401, 403) else CannotConnect
    return kind(
        f"cannot get an access token: {reason or 'refused'} ({status} for POST {url})",
        hint="check the key file and the audience of OAuth 2.0",
        request=url,
    )


def _key_file(key: str) -> dict[str, str]:
    """The members of a key file of the type `client_credentials`. An error never shows its content."""
    if not key:
        raise UsageProblem(
            "cannot authenticate with OAuth 2.0: no key file", hint="specify --key-file FILE, or privateKey"
        )
    if key.startswith("data:"):
        text, name = _inline(key), "the key file in the data: URL"
    else:
        text, name = read_secret(file_path(key), "key"), file_path(key)
    try:
        members = parse_json(text)
    except ValueError:
        members = None
    if not isinstance(members, dict):
        raise UsageProblem(f"cannot use {name}: it is not a JSON object with client_id and client_secret")
    return {field: value for field, value in members.items() if isinstance(value, str)}


def _inline(url: str) -> str:
    """The content of a data: URL (RFC 2397), or of the Go client's `data://` before the bare JSON object."""
    if url.startswith("data://"):
        return url.removeprefix("data://")
    head, _, content = url.partition(",")
    try:
        return base64.b64decode(content, validate=True).decode() if head.endswith(";base64") else unquote(content)
    except (binascii.Error, UnicodeDecodeError):
        raise UsageProblem("cannot use the key file in the data: URL: it is not valid base64") from None
