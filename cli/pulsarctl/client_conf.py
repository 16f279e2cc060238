"""Pulsar's own `client.conf`: `key=value` lines, `#` comments. Read only.

Keys are those of the file that a Pulsar release ships; the ones of Java key stores mean nothing to us.
"""

from collections.abc import Mapping
from pathlib import Path

from pulsarctl.errors import UsageProblem

# client.conf key -> field of Settings
FIELDS = {
    "webServiceUrl": "web_url",
    "brokerServiceUrl": "service_url",
    "authPlugin": "auth_plugin",
    "authParams": "auth_params",
    "tlsAllowInsecureConnection": "tls_allow_insecure",
    "tlsEnableHostnameVerification": "tls_verify_hostname",
    "tlsTrustCertsFilePath": "tls_trust_cert_path",
    "tlsCertificateFilePath": "tls_cert_file",
    "tlsKeyFilePath": "tls_key_file",
}


def read(path: Path) -> Mapping[str, str]:
    """The settings that the file gives, by field of `Settings`. Raises `UsageProblem` when it cannot be
    read."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageProblem(f"cannot read {path}: {error.strerror}") from error
    found = {}
    for line in lines:
        key, separator, value = line.partition("=")
        field = FIELDS.get(key.strip())
        if separator and field and value.strip() and not line.lstrip().startswith("#"):
            found[field] = value.strip()
    return found
