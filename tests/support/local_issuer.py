"""An issuer of OpenID Connect tokens on this machine: discovery, keys, and client credentials, and how they fail."""

from __future__ import annotations

import contextlib
import functools
import json
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, CLIENT_SECRET = "orders", "the-secret-of-orders"
AUDIENCE = "pulsar"
DISCOVERY, KEYS, TOKEN = "/.well-known/openid-configuration", "/keys", "/oauth/token"


class LocalIssuer:
    """`answers`: what a path answers instead, as status and body. Clear `open` to keep requests waiting."""

    def __init__(self, certificate: tuple[Path, Path] | None = None, *, generation: int = 0) -> None:
        """`certificate`: the files of a certificate and its key, for https. `generation`: how often keys rotated."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self._server.server_port}"
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.location = ""  # where a redirect leads; to the keys of this issuer without one
        self.content_type, self.encoding = "application/json", ""
        self.pause_seconds = 0.0  # between two bytes of a body
        self.requests: list[str] = []
        self.lifetime = 600  # seconds of a token
        self.open = threading.Event()
        self.open.set()
        self.closed = threading.Event()
        self._generation = generation
        self.rotate()

    def rotate(self) -> None:
        """From now on a new key signs, and only it is published."""
        self._generation += 1
        self.key_id = f"key-{self._generation}"
        self.key = _key(self._generation)

    @property
    def key_set(self) -> dict[str, Any]:
        public = jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        return {"keys": [{**public, "kid": self.key_id, "use": "sig", "alg": "RS256"}]}

    def claims(self, role: str, **changed: Any) -> dict[str, Any]:
        """The claims of a valid token; a claim that is None is left out."""
        now = int(time.time())
        times = {"iat": now - 10, "nbf": now - 10, "exp": now + self.lifetime}
        found = {"iss": self.url, "sub": role, "aud": AUDIENCE, **times, **changed}
        return {name: value for name, value in found.items() if value is not None}

    def token(self, role: str, **changed: Any) -> str:
        return jwt.encode(self.claims(role, **changed), self.key, "RS256", headers={"kid": self.key_id})

    def answer(self, path: str, form: str) -> tuple[int, bytes]:
        """The answer to a request; waits while the issuer is slow."""
        self.requests.append(path)
        self.open.wait(30)
        if path in self.answers:
            return self.answers[path]
        if path == DISCOVERY:
            return 200, _json({"issuer": self.url, "jwks_uri": self.url + KEYS, "token_endpoint": self.url + TOKEN})
        if path == KEYS:
            return 200, _json(self.key_set)
        given = parse_qs(form)
        if path != TOKEN or given.get("client_secret") != [CLIENT_SECRET]:
            return 401, _json({"error": "invalid_client", "error_description": "wrong client or secret"})
        granted = {
            "access_token": self.token(given["client_id"][0]),
            "token_type": "Bearer",
            "expires_in": self.lifetime,
        }
        return 200, _json(granted)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.open.set()
        self.closed.set()
        self._server.shutdown()
        self._server.server_close()


@functools.cache
def _key(_generation: int) -> rsa.RSAPrivateKey:
    """The same for all issuers of a process, because it takes long to make one."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode()


def _handler(issuer: LocalIssuer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer("")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers["Content-Length"])).decode())

        def _answer(self, form: str) -> None:
            status, body = issuer.answer(self.path, form)
            self.send_response(status)
            self.send_header("Content-Type", issuer.content_type)
            if issuer.encoding:
                self.send_header("Content-Encoding", issuer.encoding)
            self.send_header("Content-Length", str(len(body)))
            if 300 <= status < 400:
                self.send_header("Location", issuer.location or issuer.url + KEYS)
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # given up
                self._write(body)

        def _write(self, body: bytes) -> None:
            if not issuer.pause_seconds:
                self.wfile.write(body)
                return
            for byte in body:
                self.wfile.write(bytes([byte]))
                issuer.closed.wait(issuer.pause_seconds)

        def log_message(self, *_: object) -> None:
            """Tests print no requests."""

    return Handler
