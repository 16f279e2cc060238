"""Which tokens are accepted, and as which role."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from broker_core.clock import SystemClock
from broker_core.errors import AuthenticationFailed, InvalidConfiguration
from broker_core.security.authentication import Authentication
from broker_core.security.provider import Credentials, Identity
from broker_core.security.token import TokenProvider
from tests.support.secured import SECRET, SECRET_URL, setup

FUTURE = 4_000_000_000  # seconds; fixed, because the names of the tests contain the tokens
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()


def judged(token: str | bytes, **settings: Any) -> Identity:
    given = settings if "token_public_key" in settings else {"token_secret_key": SECRET_URL, **settings}
    data = token if isinstance(token, bytes) else token.encode()
    return asyncio.run(TokenProvider(setup(**given)).authenticate(Credentials(data)))


def signed(claims: dict[str, Any], algorithm: str = "HS256", key: Any = SECRET, **headers: Any) -> str:
    return jwt.encode(claims, key, algorithm, headers=headers or None)


def by_hand(claims: str) -> str:
    """A token with claims that a library would not write."""
    import hashlib
    import hmac

    parts = [base64.urlsafe_b64encode(part).rstrip(b"=") for part in (b'{"alg":"HS256"}', claims.encode())]
    body = b".".join(parts)
    signature = base64.urlsafe_b64encode(hmac.digest(SECRET, body, hashlib.sha256)).rstrip(b"=")
    return (body + b"." + signature).decode()


def public(key: Any, encoding: Any = serialization.Encoding.DER) -> bytes:
    found: bytes = key.public_key().public_bytes(encoding, serialization.PublicFormat.SubjectPublicKeyInfo)
    return found


def as_url(data: bytes) -> str:
    return f"data:;base64,{base64.b64encode(data).decode()}"


@pytest.mark.parametrize(
    ("token", "role"),
    [
        (signed({"sub": "alice"}), "alice"),
        (signed({"sub": "alice"}) + "\n", "alice"),
        (" " + signed({"sub": "alice"}), "alice"),
        (signed({"sub": "alice", "exp": FUTURE}), "alice"),
        (by_hand(f'{{"sub":"alice","exp":"{FUTURE}"}}'), "alice"),
        (signed({"sub": "alice", "iat": FUTURE}), "alice"),
        (signed({"sub": "alice", "aud": "others"}), "alice"),
        (by_hand('{"sub":["bob","alice"]}'), "bob"),
        (signed({"sub": "alice"}, kid="7", jku="https://example.com/keys"), "alice"),
    ],
)
def test_a_token_that_the_key_signed_gives_its_role(token: str, role: str) -> None:
    assert judged(token).role == role


@pytest.mark.parametrize(
    "token",
    [
        "",
        "  ",
        "garbage",
        "a.b.c",
        "Bearer " + signed({"sub": "alice"}),
        signed({"sub": "alice"}, key=b"another key another key another key!"),
        jwt.encode({"sub": "alice"}, "", "none"),
        signed({"sub": "alice"}, "HS384", SECRET + SECRET),
        signed({"sub": "alice", "exp": 1_700_000_000}),
        signed({"sub": "alice", "nbf": FUTURE}),
        by_hand('{"sub":"alice","exp":null}'),
        by_hand('{"sub":"alice","exp":true}'),
        by_hand('{"sub":"alice","exp":NaN}'),
        by_hand('{"sub":"alice","exp":0}'),
        signed({}),
        signed({"sub": ""}),
        by_hand('{"sub":7}'),
        by_hand('{"sub":[]}'),
        signed({"sub": "a\nb"}),
        signed({"sub": "a" * 2000}),
        signed({"sub": "alice"}, crit=["b64"]),
        b"\xff\xfe",
        "[" * 5000,
    ],
)
def test_any_other_token_is_refused(token: str | bytes) -> None:
    with pytest.raises(AuthenticationFailed):
        judged(token)


@pytest.mark.parametrize("algorithm", ["RS256", "RS384", "RS512", "PS256"])
@pytest.mark.parametrize("encoding", [serialization.Encoding.DER, serialization.Encoding.PEM])
def test_an_rsa_key_accepts_every_algorithm_of_rsa(algorithm: str, encoding: Any) -> None:
    assert judged(signed({"sub": "alice"}, algorithm, RSA), token_public_key=as_url(public(RSA, encoding))).role


@pytest.mark.parametrize(("key", "algorithm"), [(EC, "ES256"), (ED, "EdDSA")])
def test_keys_of_curves_are_accepted(key: Any, algorithm: str) -> None:
    assert judged(signed({"sub": "alice"}, algorithm, key), token_public_key=as_url(public(key))).role == "alice"


@pytest.mark.parametrize("encoding", [serialization.Encoding.DER, serialization.Encoding.PEM])
def test_a_public_key_is_no_secret_key(encoding: Any) -> None:
    """Algorithm confusion: everyone knows the public key, and could sign with it as a secret."""
    import hashlib
    import hmac

    body = b".".join(
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in ({"alg": "HS256"}, {"sub": "a"})
    )
    signature = hmac.digest(public(RSA, encoding), body, hashlib.sha256)
    forged = body + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")
    with pytest.raises(AuthenticationFailed):
        judged(forged, token_public_key=as_url(public(RSA, encoding)))


@pytest.mark.parametrize(("audience", "accepted"), [("me", True), (["you", "me"], True), ("you", False), ([], False)])
def test_the_audience_counts_if_a_claim_is_set(audience: Any, accepted: bool) -> None:
    token, rules = signed({"sub": "alice", "aud": audience}), {"token_audience_claim": "aud", "token_audience": "me"}
    if accepted:
        assert judged(token, **rules).role == "alice"
    else:
        with pytest.raises(AuthenticationFailed):
            judged(token, **rules)


@pytest.mark.parametrize(
    "role", ["team/app", "jane doe", "jane@example.com", "Doe, Jane", "j\u00fcrgen", "\u5f20", "*"]
)
def test_a_role_may_have_any_printable_characters(role: str) -> None:
    assert judged(signed({"sub": role})).role == role


@pytest.mark.parametrize(
    "role",
    ["", " ", "admin ", " admin", "admin\u00a0", "\u3000admin", "ad\x00min", "admin\n", "ad\ud800min", "a" * 1025],
)
def test_a_role_that_would_not_stay_the_same_on_its_way_is_refused(role: str) -> None:
    with pytest.raises(AuthenticationFailed, match="the credentials name a role that"):
        judged(by_hand(json.dumps({"sub": role})))


@pytest.mark.parametrize(("role", "reason"), [(" admin ", "superUserRoles"), ("a\x00b", "control characters")])
def test_an_anonymous_role_that_clients_must_not_have_keeps_the_broker_from_starting(role: str, reason: str) -> None:
    given: dict[str, Any] = {
        "providers": "AuthenticationProviderToken",
        "token_secret_key": SECRET_URL,
        "super_users": "admin",
    }
    with pytest.raises(InvalidConfiguration, match=reason):
        Authentication.of(setup(**given, anonymous_role=role))


def test_another_claim_may_hold_the_role() -> None:
    assert judged(signed({"sub": "alice", "team": "blue"}), token_claim="team").role == "blue"


def test_a_token_says_when_it_expires() -> None:
    assert judged(signed({"sub": "alice", "exp": FUTURE})).expires_ms == FUTURE * 1000
    assert judged(signed({"sub": "alice"})).expires_ms is None


def test_clocks_may_differ_by_the_configured_time() -> None:
    now = SystemClock().wall_ms() // 1000
    assert judged(signed({"sub": "alice", "exp": now - 5}), token_skew_seconds=3600).role == "alice"


def test_a_key_is_read_in_every_form_of_pulsar(tmp_path: Path) -> None:
    file = tmp_path / "secret.key"
    file.write_bytes(SECRET)
    values = (str(file), f"file://{file}", f"file:{file}", SECRET_URL, base64.b64encode(SECRET).decode())
    for value in (*values, f"data:,{SECRET.decode()}"):
        assert judged(signed({"sub": "alice"}), token_secret_key=value).role == "alice"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, "set tokenSecretKey or tokenPublicKey"),
        ({"token_secret_key": "nosuchit"}, "the key has 6 bytes, and needs 32; if this is a path"),
        ({"token_secret_key": "no/such file"}, "there is no such file"),
        ({"token_secret_key": "file:///no/such"}, "No such file"),
        ({"token_secret_key": "data:text"}, "needs a comma"),
        ({"token_public_key": "nosuchit"}, "not a public key in DER or PEM form"),
        ({"token_secret_key": SECRET_URL, "token_audience_claim": "aud"}, "tokenAudienceClaim needs tokenAudience"),
    ],
)
def test_a_broker_with_an_unusable_key_does_not_start(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidConfiguration, match=reason):
        TokenProvider(setup(**settings))
