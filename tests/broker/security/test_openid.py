"""Tokens of an OpenID Connect issuer: which are accepted, and what an issuer that changes or fails does to a broker."""

from __future__ import annotations

import asyncio
import gzip
import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization

from broker_core.config.openid import OpenIdConfig
from broker_core.errors import AuthenticationFailed, InvalidConfiguration
from broker_core.security.issuer_keys import RETRY_SECONDS
from broker_core.security.openid import OpenIdProvider
from broker_core.security.provider import Credentials
from tests.support.authority import Authority
from tests.support.clocks import ShiftedClock
from tests.support.condition import wait_until
from tests.support.local_issuer import AUDIENCE, DISCOVERY, KEYS, LocalIssuer
from tests.support.secured import setup

FUTURE = 4_000_000_000  # seconds
MISS_SECONDS, REFRESH_SECONDS, EXPIRATION_SECONDS = 300.0, 1_000.0, 2_000.0


@pytest.fixture
def issuer() -> Iterator[LocalIssuer]:
    with LocalIssuer() as found:
        yield found


class Judge:
    """A provider for one issuer, with a clock that the test moves."""

    def __init__(self, issuer: LocalIssuer, **given: Any) -> None:
        self.clock = ShiftedClock()
        settings: dict[str, Any] = {
            "issuers": issuer.url,
            "audiences": f"other, {AUDIENCE}",
            "require_https": False,
            "refresh_seconds": REFRESH_SECONDS,
            "expiration_seconds": EXPIRATION_SECONDS,
            "miss_seconds": MISS_SECONDS,
        }
        self._provider = OpenIdProvider(setup(self.clock, OpenIdConfig(**{**settings, **given})))

    async def role(self, token: str) -> str:
        return (await self._provider.authenticate(Credentials(token.encode()))).role

    async def refusal(self, token: str) -> str:
        with pytest.raises(AuthenticationFailed) as failed:
            await self.role(token)
        return failed.value.reason


async def test_a_token_of_the_issuer_gives_its_role_until_it_expires(issuer: LocalIssuer) -> None:
    provider = OpenIdProvider(
        setup(openid=OpenIdConfig(issuers=issuer.url, audiences=AUDIENCE, require_https=False, leeway_seconds=5))
    )
    identity = await provider.authenticate(Credentials(issuer.token("orders", exp=FUTURE).encode()))
    assert (identity.role, identity.expires_ms) == ("orders", (FUTURE + 5) * 1000)


@pytest.mark.parametrize(("claim", "role"), [("email", "a@example.com"), ("groups", "first")])
async def test_the_role_is_in_the_configured_claim(issuer: LocalIssuer, claim: str, role: str) -> None:
    token = issuer.token("orders", email="a@example.com", groups=["first", "second"])
    assert await Judge(issuer, role_claim=claim).role(token) == role


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"iat": None}, "the token has no claim iat"),
        ({"exp": None}, "the token has no claim exp"),
        ({"nbf": None}, "the token has no claim nbf"),
        ({"sub": None}, "the token has no claim sub"),
        ({"aud": None}, "the token has no claim aud"),
        ({"aud": "elsewhere"}, "another audience"),
        ({"aud": []}, "another audience"),
        ({"exp": 1}, "expired"),
        ({"nbf": FUTURE}, "not valid yet"),
        ({"iat": FUTURE}, "from the future"),
        ({"iss": None}, "openIDAllowedTokenIssuers"),
        ({"iss": "https://accounts.example.com"}, "openIDAllowedTokenIssuers"),
        ({"iss": ["https://accounts.example.com"]}, "openIDAllowedTokenIssuers"),
    ],
)
async def test_a_token_with_other_claims_is_refused(issuer: LocalIssuer, changed: dict[str, Any], reason: str) -> None:
    judge = Judge(issuer)
    assert await judge.role(_signed(issuer.claims("orders"), issuer)) == "orders"
    assert reason in await judge.refusal(_signed(issuer.claims("orders", **changed), issuer))


def _signed(payload: dict[str, Any], issuer: LocalIssuer, **headers: Any) -> str:
    signing = jwt.PyJWS()
    given = {"kid": issuer.key_id, **headers}
    return signing.encode(json.dumps(payload).encode(), issuer.key, given.pop("alg", "RS256"), headers=given)


def _forged(issuer: LocalIssuer, kind: str) -> str:
    claims, public = issuer.claims("admin"), issuer.key.public_key()
    if kind == "unsigned":
        return jwt.encode(claims, "", "none", headers={"kid": issuer.key_id})
    if kind == "secret from the public key":
        spki = serialization.PublicFormat.SubjectPublicKeyInfo
        secret = public.public_bytes(serialization.Encoding.DER, spki)
        head = b".".join(_encoded(part) for part in ({"alg": "HS256", "kid": issuer.key_id}, claims))
        return (head + b"." + urlsafe_b64encode(hmac.digest(secret, head, "sha256")).rstrip(b"=")).decode()
    if kind == "other algorithm":
        return _signed(claims, issuer, alg="RS512")
    if kind == "no key ID":
        return jwt.encode(claims, issuer.key, "RS256")
    if kind == "critical header":
        return _signed(claims, issuer, crit=["exp"], exp=1)
    assert kind == "other key"
    with LocalIssuer(generation=7) as other:
        return jwt.encode(claims, other.key, "RS256", headers={"kid": issuer.key_id})


def _encoded(part: dict[str, Any]) -> bytes:
    return urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=")


@pytest.mark.parametrize(
    "kind",
    ["unsigned", "secret from the public key", "other algorithm", "other key", "no key ID", "critical header"],
)
async def test_a_token_that_the_issuer_did_not_sign_is_refused(issuer: LocalIssuer, kind: str) -> None:
    assert await Judge(issuer).refusal(_forged(issuer, kind))


@pytest.mark.parametrize("token", ["", "a", "a.b.c", "e30.e30.", "e30." + "W" * 40_000 + ".e30"])
async def test_what_is_no_token_is_refused_without_a_request(issuer: LocalIssuer, token: str) -> None:
    assert await Judge(issuer).refusal(token)
    assert issuer.requests == []


async def test_addresses_in_a_token_are_never_requested(issuer: LocalIssuer) -> None:
    with LocalIssuer(generation=7) as attacker:
        token = _signed(
            attacker.claims("admin", iss=issuer.url), attacker, jku=attacker.url + KEYS, x5u=attacker.url, kid="key-9"
        )
        assert "has no key 'key-9'" in await Judge(issuer).refusal(token)
        assert attacker.requests == []


async def test_a_new_key_of_the_issuer_is_found_without_a_restart(issuer: LocalIssuer) -> None:
    judge = Judge(issuer)
    old = issuer.token("orders")
    assert await judge.role(old) == "orders"
    issuer.rotate()
    judge.clock.ran_seconds += MISS_SECONDS
    assert await judge.role(issuer.token("orders")) == "orders"
    assert "has no key 'key-1'" in await judge.refusal(old)


async def test_unknown_key_ids_cost_one_request_in_the_configured_time(issuer: LocalIssuer) -> None:
    judge = Judge(issuer)
    assert await judge.role(issuer.token("orders")) == "orders"
    for _ in range(2):
        tokens = [_signed(issuer.claims("x"), issuer, kid=f"unknown-{number}") for number in range(30)]
        assert len(await asyncio.gather(*map(judge.refusal, tokens))) == 30
    assert issuer.requests.count(KEYS) == 1
    judge.clock.ran_seconds += MISS_SECONDS
    await asyncio.gather(*map(judge.refusal, tokens))
    assert issuer.requests.count(KEYS) == 2


async def test_clients_that_connect_at_once_share_one_request(issuer: LocalIssuer) -> None:
    judge = Judge(issuer)
    assert set(await asyncio.gather(*(judge.role(issuer.token("orders")) for _ in range(30)))) == {"orders"}
    assert issuer.requests == [DISCOVERY, KEYS]


async def test_a_client_that_leaves_does_not_take_the_keys_from_the_others(issuer: LocalIssuer) -> None:
    judge = Judge(issuer)
    issuer.open.clear()
    leaving = asyncio.create_task(judge.role(issuer.token("orders")))
    staying = asyncio.create_task(judge.role(issuer.token("orders")))
    await _requested(issuer, 1)
    leaving.cancel()
    issuer.open.set()
    assert await staying == "orders"


async def _requested(issuer: LocalIssuer, count: int) -> None:
    await asyncio.to_thread(wait_until, lambda: len(issuer.requests) == count, 10)


async def test_keys_stay_in_use_while_a_slow_issuer_renews_them(issuer: LocalIssuer) -> None:
    judge = Judge(issuer)
    token = issuer.token("orders")
    assert await judge.role(token) == "orders"
    judge.clock.ran_seconds += REFRESH_SECONDS
    issuer.open.clear()
    async with asyncio.timeout(5):
        assert [await judge.role(token) for _ in range(10)] == ["orders"] * 10
    await _requested(issuer, 3)
    assert issuer.requests == [DISCOVERY, KEYS, DISCOVERY]


async def test_an_issuer_that_does_not_answer_in_time_is_given_up(issuer: LocalIssuer) -> None:
    judge = Judge(issuer, connect_timeout_ms=100, read_timeout_ms=100)
    issuer.open.clear()
    assert "no answer in time" in await judge.refusal(issuer.token("orders"))
    issuer.open.set()
    judge.clock.ran_seconds += RETRY_SECONDS
    assert await judge.role(issuer.token("orders")) == "orders"


async def test_cached_keys_outlive_an_issuer_that_is_down_until_they_expire(issuer: LocalIssuer) -> None:
    judge = Judge(issuer)
    token = issuer.token("orders")
    assert await judge.role(token) == "orders"
    issuer.answers = {DISCOVERY: (503, b"")}
    judge.clock.ran_seconds += REFRESH_SECONDS
    assert await judge.role(token) == "orders"
    judge.clock.ran_seconds += EXPIRATION_SECONDS - REFRESH_SECONDS
    assert "it answers 503" in await judge.refusal(token)
    issuer.answers = {}
    judge.clock.ran_seconds += RETRY_SECONDS
    assert await judge.role(token) == "orders"


async def test_an_issuer_that_is_down_gets_few_requests(issuer: LocalIssuer) -> None:
    judge = Judge(issuer)
    issuer.answers = {DISCOVERY: (503, b"")}
    for _ in range(20):
        assert "it answers 503" in await judge.refusal(issuer.token("orders"))
    assert issuer.requests == [DISCOVERY]


async def test_an_issuer_that_cannot_be_reached_is_named() -> None:
    with LocalIssuer() as gone:
        pass
    assert gone.url in await Judge(gone).refusal(gone.token("orders"))


@pytest.mark.parametrize("path", [DISCOVERY, KEYS])
async def test_a_redirect_is_never_followed(issuer: LocalIssuer, path: str) -> None:
    with LocalIssuer(generation=7) as attacker:
        mapped = attacker.url.replace("127.0.0.1", "[::ffff:127.0.0.1]")
        targets = {
            301: attacker.url + KEYS,
            302: mapped + KEYS,
            303: "file:///etc/passwd",
            307: "http://169.254.169.254/latest/meta-data",
            308: "//" + attacker.url.partition("//")[2] + KEYS,
        }
        for status, issuer.location in targets.items():
            issuer.answers = {path: (status, b"{}")}
            assert f"it answers {status}" in await Judge(issuer).refusal(issuer.token("orders"))
        assert attacker.requests == []


async def test_an_issuer_at_an_ipv6_address_that_maps_ipv4_is_another_issuer(issuer: LocalIssuer) -> None:
    mapped = issuer.url.replace("127.0.0.1", "[::ffff:127.0.0.1]")
    token = issuer.token("orders", iss=mapped)
    assert "openIDAllowedTokenIssuers" in await Judge(issuer).refusal(token)
    assert "belongs to another issuer" in await Judge(issuer, issuers=mapped).refusal(token)


async def test_of_two_keys_with_one_id_only_the_first_verifies(issuer: LocalIssuer) -> None:
    [own] = issuer.key_set["keys"]
    with LocalIssuer(generation=7) as other:
        forged = jwt.encode(issuer.claims("admin"), other.key, "RS256", headers={"kid": issuer.key_id})
        [second] = other.key_set["keys"]
    issuer.answers = {KEYS: (200, _set(own, {**second, "kid": issuer.key_id}))}
    judge = Judge(issuer)
    assert await judge.role(issuer.token("orders")) == "orders"
    assert await judge.refusal(forged)


async def test_an_issuer_that_sends_a_byte_at_a_time_is_given_up(issuer: LocalIssuer) -> None:
    issuer.pause_seconds = 0.05  # less than the time to read, so that only the whole answer is late
    async with asyncio.timeout(5):
        judge = Judge(issuer, connect_timeout_ms=300, read_timeout_ms=300)
        assert "no answer in time" in await judge.refusal(issuer.token("orders"))


async def test_ten_thousand_keys_are_refused_within_the_size_and_the_number(issuer: LocalIssuer) -> None:
    [key] = issuer.key_set["keys"]
    for many, reason in (([{"kty": "RSA", "kid": "key-1"}] * 10_000, "10000 keys"), ([key] * 10_000, "larger than")):
        issuer.answers = {KEYS: (200, _set(*many))}
        assert reason in await Judge(issuer).refusal(issuer.token("orders"))


@pytest.mark.parametrize("content_type", ["text/html", "application/jwk-set+json", "", "a" * 1000])
async def test_a_content_type_changes_nothing(issuer: LocalIssuer, content_type: str) -> None:
    issuer.content_type = content_type
    assert await Judge(issuer).role(issuer.token("orders")) == "orders"


async def test_a_compressed_answer_is_not_expanded(issuer: LocalIssuer) -> None:
    issuer.encoding = "gzip"
    issuer.answers = {KEYS: (200, gzip.compress(b" " * (8 << 20)))}
    assert "it is not JSON" in await Judge(issuer).refusal(issuer.token("orders"))


@pytest.mark.parametrize("hours", [-3, 3])
async def test_a_clock_that_jumps_revives_no_token_and_asks_the_issuer_nothing(issuer: LocalIssuer, hours: int) -> None:
    """Keys are as old as the time that has passed; whether a token is valid is decided by the clock of the moment."""
    judge = Judge(issuer)
    token = issuer.token("orders")
    assert await judge.role(token) == "orders"
    judge.clock.jump_ms = hours * 3_600_000
    assert ("expired" if hours > 0 else "not valid yet") in await judge.refusal(token)
    judge.clock.jump_ms = 0
    assert await judge.role(token) == "orders"
    assert issuer.requests == [DISCOVERY, KEYS]


def _set(*keys: Any) -> bytes:
    return json.dumps({"keys": list(keys)}).encode()


GARBAGE: dict[str, tuple[int, bytes]] = {
    "no JSON": (200, b"<html>"),
    "binary": (200, bytes(range(256))),
    "a list": (200, b"[]"),
    "null": (200, b"null"),
    "deep": (200, b"[" * 100_000),
    "too large": (200, b" " * (2 << 20)),
    "an error": (500, b"{}"),
    "a redirect": (302, b""),
    "no keys": (200, b'{"keys":[]}'),
    "keys of no kind": (200, b'{"keys":{}}'),
    "too many keys": (200, _set(*[{}] * 101)),
    "a symmetric key": (200, _set({"kty": "oct", "kid": "key-1", "k": "c2VjcmV0" * 8, "alg": "HS256"})),
    "broken keys": (
        200,
        _set(
            None,
            1,
            {"kty": "RSA", "kid": "key-1"},
            {"kty": "RSA", "kid": "key-1", "n": "!", "e": 7},
            {"kty": "RSA", "kid": "key-1", "n": "", "e": ""},
            {"kty": ["RSA"], "kid": "key-1"},
            {"kty": "EC", "kid": "key-1", "crv": "P-256", "x": "AA", "y": "AA"},
            {"kty": "EC", "kid": "key-1", "crv": 5, "x": None, "y": None},
        ),
    ),
}


@pytest.mark.parametrize("path", [DISCOVERY, KEYS])
@pytest.mark.parametrize("kind", sorted(GARBAGE))
async def test_an_issuer_that_answers_garbage_is_named_with_the_reason(
    issuer: LocalIssuer, kind: str, path: str
) -> None:
    issuer.answers = {path: GARBAGE[kind]}
    judge = Judge(issuer)
    refusal = await judge.refusal(issuer.token("orders"))
    assert f"cannot get the keys of the issuer {issuer.url}: cannot use {issuer.url}{path}" in refusal
    issuer.answers = {}
    judge.clock.ran_seconds += RETRY_SECONDS
    assert await judge.role(issuer.token("orders")) == "orders"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"issuer": "https://other.example.com"}, "it belongs to another issuer"),
        ({"jwks_uri": None}, "it has no jwks_uri"),
        ({"jwks_uri": "file:///etc/passwd"}, "it is not an https URL"),
        ({"jwks_uri": "http://[::1"}, "it is not a URL"),
    ],
)
async def test_a_discovery_document_of_another_issuer_or_place_is_refused(
    issuer: LocalIssuer, changed: dict[str, Any], reason: str
) -> None:
    document = {"issuer": issuer.url, "jwks_uri": issuer.url + KEYS, **changed}
    issuer.answers = {DISCOVERY: (200, json.dumps(document).encode())}
    assert reason in await Judge(issuer).refusal(issuer.token("orders"))


async def test_a_key_for_encryption_and_a_small_key_verify_nothing(issuer: LocalIssuer) -> None:
    [key] = issuer.key_set["keys"]
    small = {**key, "n": key["n"][:170]}  # 1020 bits
    for unusable in ({**key, "use": "enc"}, {**key, "alg": "RSA-OAEP"}, small):
        issuer.answers = {KEYS: (200, _set(unusable))}
        assert "no RSA or EC key" in await Judge(issuer).refusal(issuer.token("orders"))


async def test_https_needs_a_certificate_of_a_trusted_authority(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with LocalIssuer(authority.issue("issuer")) as issuer:
        trusting = Judge(issuer, require_https=True, trust_file=str(authority.file))
        assert await trusting.role(issuer.token("orders")) == "orders"
        issuer.requests.clear()
        stranger = Judge(issuer, require_https=True, trust_file=str(Authority(tmp_path, "other").file))
        assert "certificate" in (await stranger.refusal(issuer.token("orders"))).lower()
        assert issuer.requests == []


async def test_keys_in_a_file_need_no_request(issuer: LocalIssuer, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    file.write_text(json.dumps(issuer.key_set))
    judge = Judge(issuer, key_sets=f"{issuer.url}=file://{file}")
    assert await judge.role(issuer.token("orders")) == "orders"
    issuer.rotate()
    file.write_text(json.dumps(issuer.key_set))
    judge.clock.ran_seconds += MISS_SECONDS
    assert await judge.role(issuer.token("orders")) == "orders"
    assert issuer.requests == []


async def test_keys_at_a_url_need_no_discovery(issuer: LocalIssuer) -> None:
    assert await Judge(issuer, key_sets=f"{issuer.url}={issuer.url}{KEYS}").role(issuer.token("orders")) == "orders"
    assert issuer.requests == [KEYS]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"issuers": ""}, "set openIDAllowedTokenIssuers"),
        ({"audiences": " , "}, "set openIDAllowedAudiences"),
        ({"require_https": True}, "openIDRequireIssuersUseHttps"),
        ({"issuers": "accounts.example.com"}, "not an https URL"),
        ({"issuers": "file:///etc"}, "not an https URL"),
        ({"trust_file": "/nonexistent"}, "openIDTokenIssuerTrustCertsFilePath"),
        ({"key_sets": "/etc/keys.json"}, "write ISSUER=FILE"),
        ({"key_sets": "https://other.example.com=/etc/hostname"}, "lacks 'https://other.example.com'"),
        ({"issuers": "http://a", "key_sets": "http://a=/etc/hostname"}, "cannot use /etc/hostname: it is not JSON"),
        ({"issuers": "http://a", "key_sets": "http://a=/nonexistent"}, "No such file"),
        ({"issuers": "http://a", "key_sets": "http://a=ftp://a/keys"}, "not an https URL"),
    ],
)
def test_settings_that_cannot_work_keep_the_broker_from_starting(
    issuer: LocalIssuer, given: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InvalidConfiguration, match=reason):
        Judge(issuer, **given)
