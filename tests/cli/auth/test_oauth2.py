"""Access tokens from an issuer: what is asked for, when, and what a refusal looks like."""

import base64
import json
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from pulsarctl.auth.authentication import authentication_of
from pulsarctl.auth.oauth2 import DISCOVERY
from pulsarctl.auth.portable import portable
from pulsarctl.errors import CannotConnect, UsageProblem
from pulsarctl.settings.client_security import ClientSecurity
from tests.cli.auth.conftest import Run
from tests.cli.auth.secured_cluster import SECRET, Credentials
from tests.support.http_stub import HttpStub, Reply, Request

KEY = json.dumps({"type": "client_credentials", "client_id": "me", "client_secret": SECRET})
IN_BASE64 = base64.b64encode(KEY.encode()).decode()


def an_issuer(expires_in: object = 3600) -> HttpStub:
    def answer(request: Request) -> Reply:
        if request.path == DISCOVERY:
            return Reply(200, {"token_endpoint": f"http://{request.headers['Host']}/token"})
        return Reply(200, {"access_token": f"token-{request.path}", "expires_in": expires_in})

    return HttpStub(answer)


def forms(issuer: HttpStub) -> list[dict[str, list[str]]]:
    return [parse_qs(request.body) for request in issuer.requests if request.method == "POST"]


@pytest.mark.parametrize("key", ["{file}", "file:{file}", "file://{file}", "data:application/json;base64,{inline}"])
def test_the_key_can_be_written_in_every_form(tmp_path: Path, key: str) -> None:
    file = tmp_path / "key.json"
    file.write_text(KEY)
    with an_issuer() as issuer:
        parameters = json.dumps(
            {
                "issuerUrl": issuer.url,
                "privateKey": key.format(file=file, inline=IN_BASE64),
                "audience": "a",
                "scope": "s",
            }
        )
        found = authentication_of(ClientSecurity(auth_plugin="oauth2", auth_params=parameters))
        assert (found.method, found.header()) == ("token", "Bearer token-/token")
        (form,) = forms(issuer)
    assert form == {
        "grant_type": ["client_credentials"],
        "client_id": ["me"],
        "client_secret": [SECRET],
        "audience": ["a"],
        "scope": ["s"],
    }


@pytest.mark.parametrize(("expires_in", "requests"), [(3600, 1), (None, 1), (0, 3)])
def test_a_token_is_used_until_it_is_about_to_expire(expires_in: object, requests: int) -> None:
    with an_issuer(expires_in) as issuer:
        security = ClientSecurity(issuer_endpoint=issuer.url, key_file=f"data://{KEY}")
        found = authentication_of(security)
        for _ in range(3):
            found.data()
        assert len(forms(issuer)) == requests


def test_a_wrong_secret_is_an_authentication_error_that_shows_no_secret(
    secured: Run, credentials: Credentials, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps({"client_id": "me", "client_secret": "hush-hush"}))
    outcome = secured("tenants", "list", "--issuer-endpoint", credentials.issuer_url, "--key-file", str(wrong))
    assert outcome.exit_code == 4
    assert outcome.stderr.startswith(
        "error: cannot get an access token: invalid_client: who are you? (401 for POST http://"
    )
    assert "hush-hush" not in outcome.stderr


def test_a_redirect_does_not_take_the_secret_elsewhere() -> None:
    with an_issuer() as elsewhere:

        def redirect(request: Request) -> Reply:
            if request.path == DISCOVERY:
                return Reply(200, {"token_endpoint": f"http://{request.headers['Host']}/token"})
            return Reply(307, None, {"Location": f"{elsewhere.url}/token"})

        with HttpStub(redirect) as issuer, pytest.raises(CannotConnect):
            authentication_of(ClientSecurity(issuer_endpoint=issuer.url, key_file=f"data://{KEY}")).data()
        assert elsewhere.requests == []


@pytest.mark.parametrize(
    "answer", [Reply(200, []), Reply(200, {}), Reply(404, "no"), Reply(200, {"token_endpoint": 1})]
)
def test_an_issuer_with_an_unusable_answer_is_named(answer: Reply) -> None:
    with HttpStub(lambda request: answer) as issuer, pytest.raises(CannotConnect, match=issuer.url):
        authentication_of(ClientSecurity(issuer_endpoint=issuer.url, key_file=f"data://{KEY}")).data()


@pytest.mark.parametrize("key", ["", "data:,[]", "data:;base64,???", "/no/such/key", "data:,{}"])
def test_an_unusable_key_is_refused_before_anything_is_sent(key: str) -> None:
    with an_issuer() as issuer:
        with pytest.raises(UsageProblem):
            authentication_of(ClientSecurity(issuer_endpoint=issuer.url, key_file=key)).data()
        assert issuer.requests == []


def test_tasks_on_other_machines_need_no_files_of_this_one(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("hush")
    given = [
        ClientSecurity(token_file=str(file)),
        ClientSecurity(user="me", password_file=str(file)),
        ClientSecurity(issuer_endpoint="https://issuer", key_file=str(file)),
    ]
    carried = [portable(one) for one in given]
    file.unlink()
    assert [str(file) in str([getattr(one, name) for name in one.__slots__]) for one in carried] == [False] * 3
    assert not any("hush" in repr(one) for one in carried)
    assert [authentication_of(one).data() for one in carried[:2]] == [b"hush", b"me:hush"]


def test_a_refusal_of_the_broker_is_not_one_of_the_issuer(secured: Run, tmp_path: Path) -> None:
    key = tmp_path / "key.json"
    key.write_text(KEY)
    with an_issuer() as issuer:
        outcome = secured("tenants", "list", "--issuer-endpoint", issuer.url, "--key-file", str(key))
    assert (outcome.exit_code, "check the credentials" in outcome.stderr) == (4, True)
