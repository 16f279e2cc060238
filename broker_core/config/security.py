"""The section of the configuration that says who clients are and what they may do. Read `config` first.

Keys, class names, and defaults are those of Pulsar's `broker.conf`. Values that name roles are lists separated by
commas.
"""

from broker_core.config.frozen import frozen
from broker_core.config.setting import setting


@frozen
class SecurityConfig:
    """The clients that may use the broker, and how they prove who they are."""

    authentication: bool = setting(
        "authenticationEnabled", False, "Whether clients must prove who they are (docs/how-to/security.md)."
    )
    providers: str = setting(
        "authenticationProviders",
        "",
        "Class names of the ways to authenticate, separated by commas; with or without Pulsar's package names.",
    )
    allow_unauthenticated: bool = setting(
        "allowUnauthenticatedAccess",
        False,
        "Whether the broker may listen on non-loopback addresses without authentication.",
    )
    refresh_seconds: float = setting(
        "authenticationRefreshCheckSeconds",
        60,
        "Interval at which the broker checks whether a connection's credentials have expired (s).",
        least=0.01,
    )
    strict_method: bool = setting(
        "strictAuthMethod",
        False,
        "Whether an HTTP request must name its method of authentication (X-Pulsar-Auth-Method-Name).",
    )
    original_data: bool = setting(
        "authenticateOriginalAuthData",
        False,
        "Whether the credentials that a proxy passes on are authenticated again.",
    )
    timeout_seconds: float = setting(
        "authenticationTimeoutSeconds",
        10.0,
        "Time in which a new connection must authenticate before the broker closes it (s).",
        least=0.01,
    )
    max_unauthenticated: int = setting(
        "maxUnauthenticatedConnectionsPerIp",
        100,
        "Maximum number of connections from one IP address that have not authenticated yet; 0 means no limit.",
        least=0,
    )
    failed_attempts: int = setting(
        "maxFailedAuthenticationsPerIp",
        10,
        "Failed authentications from one IP address after which the broker delays its answers, by at most 5 s, until"
        " a minute has passed without one.",
        least=1,
    )
    failed_attempts_of_user: int = setting(
        "maxFailedAuthenticationsPerUser",
        10,
        "Failed authentications with one user's name, from all addresses, after which the broker delays its answers"
        " to that name.",
        least=1,
    )
    refused_attempts: int = setting(
        "failedAuthenticationsBeforeRefusal",
        100,
        "Failed authentications from one IP address, or with one user's name, after which the broker refuses all but"
        " credentials that it accepted before, until a minute has passed without one; 0 is never.",
        least=0,
    )
    authorization: bool = setting(
        "authorizationEnabled", False, "Whether roles need permissions; requires authenticationEnabled."
    )
    super_users: str = setting("superUserRoles", "", "Roles that may do everything.")
    proxies: str = setting("proxyRoles", "", "Roles of proxies, which act for the role that they name.")
    anonymous_role: str = setting(
        "anonymousUserRole", "", "Role of clients that do not authenticate; empty refuses them."
    )
    wildcards: bool = setting(
        "authorizationAllowWildcardsMatching",
        False,
        "Whether a permission for `name.*`, `*.name`, or `*` applies to all roles that match.",
    )
    authenticate_metrics: bool = setting(
        "authenticateMetricsEndpoint", False, "Whether /metrics requires authentication, too."
    )
    internal_plugin: str = setting(
        "brokerClientAuthenticationPlugin",
        "",
        "Authentication of the broker in other clusters whose records name none; if empty, a new broker with"
        " authorization creates no tenants.",
    )
    internal_parameters: str = setting(
        "brokerClientAuthenticationParameters", "", "Parameters of brokerClientAuthenticationPlugin, such as a token."
    )
    token_secret_key: str = setting(
        "tokenSecretKey", "", "Secret key of tokens: a file, file: URL, data: URL, or base64 text."
    )
    token_public_key: str = setting(
        "tokenPublicKey", "", "Public key of tokens (DER or PEM): a file, file: URL, data: URL, or base64 text."
    )
    token_public_alg: str = setting(
        "tokenPublicAlg", "", "Accepted and not used: the algorithm follows from tokenPublicKey."
    )
    token_claim: str = setting("tokenAuthClaim", "sub", "Claim of a token that holds the role.")
    token_audience_claim: str = setting(
        "tokenAudienceClaim", "", "Claim of a token that holds its audience; empty does not check the audience."
    )
    token_audience: str = setting("tokenAudience", "", "Audience that a token must have.")
    token_skew_seconds: int = setting(
        "tokenAllowedClockSkewSeconds", 0, "Time by which clocks may differ when tokens expire (s).", least=0
    )
    basic_file: str = setting(
        "basicAuthConf", "", "File of users and password hashes (htpasswd), or a file: or data: URL of one."
    )
    audit_file: str = setting(
        "auditLogFile",
        "",
        "File to which the broker appends one JSON line for each failed authentication, refused operation, and change"
        " over REST; empty writes none.",
    )


def names(text: str) -> frozenset[str]:
    """The names in a list that is separated by commas."""
    return frozenset(name.strip() for name in text.split(",") if name.strip())
