"""What is masked before it is handed to others."""

import json

import pytest

from pulsarctl.output.redaction import Redactor

SECRET = "hunter2-hunter2"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZG1pbiJ9.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    "key",
    [
        "token",
        "authParams",
        "auth_params",
        "PULSARCTL_TOKEN",
        "tokenSecretKey",
        "brokerClientAuthenticationParameters",
        "s3ManagedLedgerOffloadCredentialSecret",
        "tlsTrustStorePassword",
        "clientSecret",
        "privateKey",
        "apiKey",
        "aws_secret_access_key",
    ],
)
@pytest.mark.parametrize(
    "form", ["{key}={value}", "{key}: {value}", '{{"{key}": "{value}"}}', '"{{\\"{key}\\":\\"{value}\\"}}"']
)
def test_a_value_whose_key_names_a_secret(key: str, form: str) -> None:
    redactor = Redactor()
    assert redactor.document({key: SECRET}) == {key: "***"}
    assert SECRET not in redactor.text(form.format(key=key, value=SECRET))


@pytest.mark.parametrize(
    "text",
    [
        f"failed with {JWT} of admin",
        f"Authorization: Bearer {SECRET}",
        f"pulsar://admin:{SECRET}@host:6650",
        f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----",
        f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET} cut off",
        "key AKIAIOSFODNN7EXAMPLE is used",
        "data:;base64,aHVudGVyMi1odW50ZXIy",
    ],
)
def test_a_text_that_has_the_form_of_a_secret(text: str) -> None:
    shown = Redactor().text(text)
    assert "***" in shown
    for secret in (SECRET, JWT, "AKIAIOSFODNN7EXAMPLE", "aHVudGVyMi1odW50ZXIy"):
        assert secret not in shown


def test_a_secret_that_was_learned_is_masked_under_every_name_and_in_every_form() -> None:
    secret = 'pa/ss "word"'
    redactor = Redactor()
    redactor.learn({"nested": [{"password": secret}]})
    for text in (f"connected with {secret}", "http://x/?q=pa%2Fss%20%22word%22", json.dumps({"note": secret})):
        assert "***" in redactor.text(text)
    assert redactor.document({"note": secret}) == {"note": "***"}


def test_json_in_a_string_is_masked_by_its_keys() -> None:
    shown = Redactor().document({"parameters": json.dumps({"userId": "admin", "password": SECRET})})
    assert json.loads(shown["parameters"]) == {"userId": "admin", "password": "***"}


def test_what_is_no_secret_stays() -> None:
    document = {
        "tokenFile": "/etc/pulsar/token",
        "authorizationEnabled": "true",
        "tokenPublicKey": "",
        "acceptsTokens": True,
        "publishRateTokens": 100,
        "authenticationProviders": ["org.apache.pulsar.broker.authentication.AuthenticationProviderToken"],
        "topic": "persistent://public/default/orders",
        "metric": 'pulsar_rate_in{topic="persistent://a/b/c"} 5',
    }
    assert Redactor().document(document) == document
