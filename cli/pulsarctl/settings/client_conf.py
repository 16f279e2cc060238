"""Pulsar's own `client.conf`: `key=value` lines with `#` comments, or the same keys as YAML. Read only.

The keys are those of the file in a Pulsar release, without those for Java key stores.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pulsarctl.errors import UsageProblem
from pulsarctl.values.text_files import parse_yaml, read_text, text_or_switch


class Key(NamedTuple):
    """A key of client.conf: the field of `Settings` that it sets, and what it means."""

    name: str
    field: str
    meaning: str


KEYS = (
    Key("webServiceUrl", "web_url", "Address of the admin API."),
    Key("brokerServiceUrl", "service_url", "Address of the broker, for produce, consume, and read."),
    Key(
        "authPlugin",
        "auth_plugin",
        "Java class of the authentication plugin: AuthenticationToken, AuthenticationBasic, AuthenticationTls, or"
        " oauth2.AuthenticationOAuth2.",
    ),
    Key(
        "authParams",
        "auth_params",
        "Parameters of the authentication plugin: token:TEXT, file:///path/to/token, tlsCertFile:FILE,tlsKeyFile:FILE,"
        " or a JSON object.",
    ),
    Key("tlsTrustCertsFilePath", "tls_trust_cert_path", "File of trusted certificates (PEM)."),
    Key("tlsCertificateFilePath", "tls_cert_file", "File of the client certificate (PEM)."),
    Key("tlsKeyFilePath", "tls_key_file", "File of the client's private key (PEM)."),
    Key("tlsAllowInsecureConnection", "tls_allow_insecure", "Accept any server certificate."),
    Key("tlsEnableHostnameVerification", "tls_verify_hostname", "Verify the host name in the server certificate."),
)
FIELDS = {key.name: key.field for key in KEYS}


def read(path: Path) -> Mapping[str, Any]:
    """The settings in the file, by field of `Settings`. Raises `UsageProblem` if it is not readable."""
    text = read_text(path)
    pairs = _yaml(path, text) if path.suffix in (".yaml", ".yml") else _lines(text)
    return {FIELDS[key]: value for key, value in pairs if key in FIELDS and value not in ("", None)}


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        key, separator, value = line.partition("=")
        if separator and not line.lstrip().startswith("#"):
            yield key.strip(), value.strip()


def _yaml(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    document = parse_yaml(text, str(path)) or {}
    if not isinstance(document, dict):
        raise UsageProblem(f"cannot read {path}: it is not a mapping of keys")
    for key, value in document.items():
        if key in FIELDS and value is not None:
            yield key, text_or_switch(value, f"{key} in {path}")
