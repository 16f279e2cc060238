"""Pulsar's own `client.conf`: `key=value` lines with `#` comments, or the same keys as YAML. Read only.

Keys are those of the file that a Pulsar release ships; the ones of Java key stores mean nothing to us.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pulsarctl.errors import UsageProblem


class Key(NamedTuple):
    """A key of client.conf: the field of `Settings` that it sets, and what it means."""

    name: str
    field: str
    meaning: str


KEYS = (
    Key("webServiceUrl", "web_url", "Address of the admin API."),
    Key("brokerServiceUrl", "service_url", "Address of the broker, for produce, consume and read."),
    Key("authPlugin", "auth_plugin", "Java class of the authentication: AuthenticationToken or AuthenticationBasic."),
    Key("authParams", "auth_params", "Its parameters, as in token:TEXT or file:///path/to/token."),
    Key("tlsTrustCertsFilePath", "tls_trust_cert_path", "Certificates to trust (PEM file)."),
    Key("tlsCertificateFilePath", "tls_cert_file", "Own certificate (PEM file)."),
    Key("tlsKeyFilePath", "tls_key_file", "Own private key (PEM file)."),
    Key("tlsAllowInsecureConnection", "tls_allow_insecure", "Accept any certificate."),
    Key("tlsEnableHostnameVerification", "tls_verify_hostname", "Check that the certificate is for the host."),
)
FIELDS = {key.name: key.field for key in KEYS}


def read(path: Path) -> Mapping[str, Any]:
    """The settings that the file gives, by field of `Settings`. Raises `UsageProblem` when it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageProblem(f"cannot read {path}: {error.strerror}") from error
    pairs = _yaml(path, text) if path.suffix in (".yaml", ".yml") else _lines(text)
    return {FIELDS[key]: value for key, value in pairs if key in FIELDS and value not in ("", None)}


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        key, separator, value = line.partition("=")
        if separator and not line.lstrip().startswith("#"):
            yield key.strip(), value.strip()


def _yaml(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    import yaml

    try:
        document = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise UsageProblem(f"{path} is not YAML: {error}") from error
    if not isinstance(document, dict):
        raise UsageProblem(f"{path} is not a mapping of keys")
    yield from document.items()
