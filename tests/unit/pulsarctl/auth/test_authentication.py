"""The spellings of credentials that Pulsar's clients take, and what goes over the wire for each."""

import json
from base64 import b64encode
from pathlib import Path

import pytest

from pulsarctl.auth.authentication import CertificateAuthentication, authentication_of, certificate_pair
from pulsarctl.errors import UsageProblem
from pulsarctl.settings.client_security import ClientSecurity

JAVA = "org.apache.pulsar.client.impl.auth."


@pytest.mark.parametrize("plugin", [f"{JAVA}AuthenticationToken", "AuthenticationToken", "token", "Token", None])
@pytest.mark.parametrize("parameters", ["token:abc", "abc", '{"token": "abc"}', "env:TEST_TOKEN"])
def test_a_token_can_be_written_in_every_form(
    plugin: str | None, parameters: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_TOKEN", "abc\n")
    found = authentication_of(ClientSecurity(auth_plugin=plugin, auth_params=parameters))
    assert (found.method, found.data(), found.header()) == ("token", b"abc", "Bearer abc")


@pytest.mark.parametrize("form", ["file:{}", "file://{}", '{{"file": "{}"}}'])
def test_a_token_file_is_read_again_for_each_connection(tmp_path: Path, form: str) -> None:
    file = tmp_path / "token file"
    found = authentication_of(ClientSecurity(auth_params=form.format(file)))
    file.write_text("first\n")
    assert found.data() == b"first"
    file.write_text("second\n")
    assert found.data() == b"second"


@pytest.mark.parametrize("user", ["userId", "username"])
def test_basic_authentication_takes_both_spellings_of_the_user(user: str) -> None:
    parameters = json.dumps({user: "me", "password": "a:b"})
    found = authentication_of(ClientSecurity(auth_plugin=f"{JAVA}AuthenticationBasic", auth_params=parameters))
    assert (found.method, found.data()) == ("basic", b"me:a:b")
    assert found.header() == "Basic " + b64encode(b"me:a:b").decode()


@pytest.mark.parametrize("parameters", ["tlsCertFile:/c,tlsKeyFile:/k", '{"tlsCertFile": "/c", "tlsKeyFile": "/k"}'])
def test_the_certificate_of_the_plugin_outweighs_that_of_the_connection(parameters: str) -> None:
    security = ClientSecurity(
        auth_plugin=f"{JAVA}AuthenticationTls", auth_params=parameters, tls_cert_file="/other", tls_key_file="/other"
    )
    assert authentication_of(security) == CertificateAuthentication("/c", "/k")
    assert certificate_pair(security) == ("/c", "/k")


def test_a_certificate_besides_a_token_is_only_for_the_connection() -> None:
    security = ClientSecurity(token="t", tls_cert_file="/c", tls_key_file="/k")
    assert (authentication_of(security).method, certificate_pair(security)) == ("token", ("/c", "/k"))


def test_the_disabled_plugin_is_no_authentication() -> None:
    found = authentication_of(ClientSecurity(auth_plugin=f"{JAVA}AuthenticationDisabled"))
    assert (found.method, found.data(), found.header()) == ("", b"", None)


@pytest.mark.parametrize(
    ("security", "message"),
    [
        (ClientSecurity(auth_plugin="AuthenticationSasl"), "the plugin 'AuthenticationSasl': it is not supported"),
        (ClientSecurity(auth_plugin="token"), "cannot authenticate with a token: none is given"),
        (
            ClientSecurity(auth_plugin="basic", auth_params='{"userId": "me"}'),
            "AuthenticationBasic .*: password is",
        ),
        (ClientSecurity(auth_plugin="basic", auth_params="{hush"), "AuthenticationBasic .*: they are not valid JSON"),
        (ClientSecurity(auth_plugin="oauth2", auth_params="{}"), "AuthenticationOAuth2 .*: issuerUrl is missing"),
        (
            ClientSecurity(user="me"),
            "cannot authenticate with a password: the user name or the password file is missing",
        ),
        (
            ClientSecurity(password_file="p"),
            "cannot authenticate with a password: the user name or the password file is missing",
        ),
        (ClientSecurity(tls_cert_file="c"), "cannot use the client certificate: the certificate or its key is missing"),
    ],
)
def test_unusable_credentials_are_refused_with_the_reason(security: ClientSecurity, message: str) -> None:
    with pytest.raises(UsageProblem, match=message) as refused:
        authentication_of(security)
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize("text", ["two words", "a\nX-Header: b", "naïve", ""])
def test_text_that_cannot_be_a_token_is_refused_without_being_shown(tmp_path: Path, text: str) -> None:
    file = tmp_path / "token"
    file.write_text(text)
    with pytest.raises(UsageProblem) as refused:
        authentication_of(ClientSecurity(token_file=str(file))).header()
    assert not text or text not in str(refused.value)


@pytest.mark.parametrize("name", ["nothing", "."])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageProblem, match=f"cannot read the token file {tmp_path / name}"):
        authentication_of(ClientSecurity(token_file=str(tmp_path / name))).data()
