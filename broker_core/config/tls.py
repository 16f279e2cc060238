"""The section of the configuration for TLS listeners. Read `config` first. Keys and defaults are Pulsar's."""

from broker_core.config.frozen import frozen
from broker_core.config.setting import setting


@frozen
class TlsConfig:
    """TLS listeners, and the certificates of clients."""

    broker_port: int = setting(
        "brokerServicePortTls",
        -1,
        "Port of the binary protocol over TLS; 0 picks a free port, -1 has none.",
        least=-1,
        most=65_535,
    )
    web_port: int = setting(
        "webServicePortTls",
        -1,
        "Port of the admin REST API over TLS; 0 picks a free port, -1 has none.",
        least=-1,
        most=65_535,
    )
    certificate_file: str = setting(
        "tlsCertificateFilePath", "", "Certificate of the broker in PEM form, followed by its intermediate ones."
    )
    key_file: str = setting("tlsKeyFilePath", "", "Private key of the certificate in PEM form.")
    trust_file: str = setting(
        "tlsTrustCertsFilePath",
        "",
        "Certificate authorities of client certificates in PEM form; without them, the broker asks for none.",
    )
    require_client_certificate: bool = setting(
        "tlsRequireTrustedClientCertOnConnect", False, "Whether TLS clients must have a trusted certificate."
    )
    allow_insecure: bool = setting(
        "tlsAllowInsecureConnection",
        False,
        "Refused if true: with it, Pulsar trusts client certificates of any issuer.",
    )
    protocols: str = setting("tlsProtocols", "", "TLSv1.2 and TLSv1.3, or one of them; empty means both.")
    ciphers: str = setting(
        "tlsCiphers", "", "Ciphers of TLS 1.2, by their IANA or OpenSSL names; empty means those of OpenSSL."
    )
    refresh_seconds: float = setting(
        "tlsCertRefreshCheckDurationSec",
        300,
        "Interval at which the broker looks for new certificates (s); 0 is never.",
        least=0,
    )

    local_authority: bool = setting(
        "tlsLocalAuthority",
        False,
        "Whether the broker makes and renews its own authority and certificates, in tls/ of its data directory"
        " (pulsarctl standalone --tls auto).",
    )

    @property
    def enabled(self) -> bool:
        return self.broker_port >= 0 or self.web_port >= 0
