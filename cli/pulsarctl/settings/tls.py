"""The TLS context of the admin API and of the reachability check, from the settings."""

import ssl

from pulsarctl.errors import UsageProblem
from pulsarctl.settings.settings import Settings


def client_context(settings: Settings) -> ssl.SSLContext:
    """Raises `UsageProblem` for a certificate or key that is not readable."""
    try:
        context = ssl.create_default_context(cafile=settings.tls_trust_cert_path)
        context.check_hostname = settings.tls_verify_hostname and not settings.tls_allow_insecure
        if settings.tls_allow_insecure:
            context.verify_mode = ssl.CERT_NONE
        if settings.tls_cert_file:
            context.load_cert_chain(settings.tls_cert_file, settings.tls_key_file)
    except OSError as error:
        files = (settings.tls_trust_cert_path, settings.tls_cert_file, settings.tls_key_file)
        named = ", ".join(path for path in files if path)
        raise UsageProblem(f"cannot use the certificates {named}: {error.strerror or error}") from error
    return context


def words(error: ssl.SSLError) -> str:
    """The reason for a failed handshake."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    return "it does not answer in TLS"
