"""The section of the configuration for issuers of OpenID Connect tokens. Read `config` first.

Keys and defaults are those of Pulsar's `AuthenticationProviderOpenID`, except for `openIDIssuerKeySets`.
"""

from broker_core.config.frozen import frozen
from broker_core.config.setting import setting


@frozen
class OpenIdConfig:
    """Issuers of OpenID Connect tokens."""

    issuers: str = setting(
        "openIDAllowedTokenIssuers",
        "",
        "URLs of the issuers whose tokens AuthenticationProviderOpenID accepts, separated by commas.",
    )
    audiences: str = setting(
        "openIDAllowedAudiences", "", "Audiences of which a token must have one, separated by commas."
    )
    require_https: bool = setting(
        "openIDRequireIssuersUseHttps", True, "Whether the URLs of issuers and of their key sets must use https."
    )
    key_sets: str = setting(
        "openIDIssuerKeySets",
        "",
        "Where the keys of issuers without discovery are (JWKS), as ISSUER=FILE or ISSUER=URL, separated by commas.",
    )
    trust_file: str = setting(
        "openIDTokenIssuerTrustCertsFilePath",
        "",
        "Certificate authorities of the issuers in PEM form; empty means those of the operating system.",
    )
    role_claim: str = setting("openIDRoleClaim", "sub", "Claim of a token that holds the role.")
    leeway_seconds: int = setting(
        "openIDAcceptedTimeLeewaySeconds", 0, "Time by which clocks may differ when tokens expire (s).", least=0
    )
    refresh_seconds: float = setting(
        "openIDCacheRefreshAfterWriteSeconds",
        64_800,
        "Age at which the broker renews the keys of an issuer, while it continues to use them (s).",
        least=0.01,
    )
    expiration_seconds: float = setting(
        "openIDCacheExpirationSeconds",
        86_400,
        "Age at which the broker no longer uses the keys of an issuer that it cannot renew (s).",
        least=0.01,
    )
    miss_seconds: float = setting(
        "openIDKeyIdCacheMissRefreshSeconds",
        300,
        "Minimum time between two requests to an issuer because of an unknown key ID (s).",
        least=0,
    )
    cache_size: int = setting(
        "openIDCacheSize", 5, "Accepted and not used: the cache has room for every allowed issuer.", least=0
    )
    connect_timeout_ms: int = setting(
        "openIDHttpConnectionTimeoutMillis", 10_000, "Time in which an issuer must accept a connection (ms).", least=1
    )
    read_timeout_ms: int = setting(
        "openIDHttpReadTimeoutMillis", 10_000, "Time in which an issuer must answer a request (ms).", least=1
    )
    fallback: str = setting(
        "openIDFallbackDiscoveryMode",
        "DISABLED",
        "Where Pulsar can look for the keys of other issuers; this broker supports only DISABLED.",
        choices=("DISABLED",),
    )
