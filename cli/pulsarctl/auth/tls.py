"""The TLS context of a client, for every protocol. Importing `ssl` takes as long as a request, so only TLS does it."""

import ssl

from broker_core.broker_client import tls
from pulsarctl.errors import UsageProblem
from pulsarctl.settings.client_security import ClientSecurity

UNKNOWN_AUTHORITY = (18, 19, 20, 21)  # OpenSSL's X509_V_ERR codes


def client_context(
    security: ClientSecurity, certificate: tuple[str, str] | None, *, also_public: bool = False
) -> ssl.SSLContext:
    """`certificate` has the files of the client certificate and its key.

    `also_public` trusts public authorities besides those in the trust file, for servers other than Pulsar. Raises
    `UsageProblem` for a certificate or key that is not readable.
    """
    own = [certificate] if certificate is not None else []
    try:
        context = tls.client_context(security.tls_trust_cert_path or "", own, also_public=also_public)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        named = ", ".join(path for path in (security.tls_trust_cert_path, *(certificate or ())) if path)
        reason = getattr(error, "strerror", None) or error
        raise UsageProblem(f"cannot use the certificates {named}: {reason}") from error
    context.check_hostname = security.tls_verify_hostname and not security.tls_allow_insecure
    if security.tls_allow_insecure:
        context.verify_mode = ssl.CERT_NONE
    return context


def words(error: ssl.SSLError) -> str:
    """The reason for a failed handshake, or for an alert after it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = error.verify_message.rstrip(".")
        advice = "; name its authority with --tls-trust-cert" if error.verify_code in UNKNOWN_AUTHORITY else ""
        return f"its certificate is not trusted: {reason}{advice}"
    if concerns_client_certificate(error):
        return "it does not accept the client certificate, or requires one (--tls-cert and --tls-key)"
    return "it does not answer in TLS"


def concerns_client_certificate(error: ssl.SSLError) -> bool:
    """Whether the server ended the connection because of our certificate, or because we sent none."""
    reason = (error.reason or "").upper()
    return "ALERT" in reason and ("CERTIFICATE" in reason or "UNKNOWN_CA" in reason)
