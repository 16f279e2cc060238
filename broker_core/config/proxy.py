"""The proxy's configuration: one frozen object in sections, under the keys of Pulsar's `proxy.conf`.

It shares the sections for authentication, TLS, and HTTP with the broker. A section that extends one of the broker's
gives a field another key, another sentence, or no key at all. `conf/proxy.yaml` is generated from these.
"""

from dataclasses import field

from broker_core.config.frozen import frozen
from broker_core.config.http import HttpConfig
from broker_core.config.openid import OpenIdConfig
from broker_core.config.sections import Sections
from broker_core.config.security import SecurityConfig
from broker_core.config.setting import MB, setting
from broker_core.config.tls import TlsConfig


@frozen
class ProxyServerConfig:
    """Ports and addresses of the proxy."""

    cluster_name: str = setting("clusterName", "standalone", "Cluster name in the metrics.")
    bind_address: str = setting(
        "bindAddress", "", "Address to listen on; empty listens on the loopback addresses 127.0.0.1 and ::1."
    )
    advertised_address: str = setting(
        "advertisedAddress", "localhost", "Host name of this proxy in answers to lookups over HTTP."
    )
    port: int = setting("servicePort", 6650, "Port of the binary protocol; 0 picks a free port.", least=0, most=65_535)
    web_port: int = setting(
        "webServicePort",
        8080,
        "Port of the admin API, the metrics, and the status; 0 picks a free port.",
        least=0,
        most=65_535,
    )
    allowed_hosts: str = setting(
        "webServiceAllowedHosts",
        "",
        "Additional host names, separated by commas, that reach the web port over loopback and whose web pages can use"
        " it; * allows every name.",
    )
    status_file: str = setting(
        "statusFilePath", "", "File without which /status.html answers 404; empty needs no file."
    )
    leave_seconds: float = setting(
        "proxyReadinessDelayMs",
        0.0,
        "Time after SIGTERM in which /status.html answers 503 and the proxy still takes connections, so that load"
        " balancers can leave (ms).",
        scale=0.001,
        least=0,
    )
    drain_seconds: float = setting(
        "proxyShutdownTimeoutMs",
        30.0,
        "Maximum time for connections to become idle after proxyReadinessDelayMs (ms); then the proxy closes the rest.",
        scale=0.001,
        least=0,
    )


@frozen
class ProxyBrokersConfig:
    """The addresses of the brokers, and how the proxy connects to them."""

    service_url: str = setting(
        "brokerServiceURL",
        "",
        "Brokers to ask: pulsar://HOST:PORT, or several hosts separated by commas.",
    )
    service_url_tls: str = setting(
        "brokerServiceURLTLS", "", "Brokers over TLS, pulsar+ssl://HOST:PORT; used if tlsEnabledWithBroker is true."
    )
    web_url: str = setting(
        "brokerWebServiceURL",
        "",
        "Admin API of the brokers: http://HOST:PORT, or several hosts separated by commas; empty forwards no requests.",
    )
    web_url_tls: str = setting(
        "brokerWebServiceURLTLS",
        "",
        "Admin API of the brokers over TLS, https://HOST:PORT; used if tlsEnabledWithBroker is true.",
    )
    metadata_store: str = setting(
        "metadataStoreUrl", "", "Refused unless brokerServiceURL is set: this proxy finds no brokers in metadata."
    )
    allowed_hosts: str = setting(
        "brokerProxyAllowedHostNames",
        "",
        "Hosts of brokers in addition to those of brokerServiceURL, separated by commas; * matches any characters.",
    )
    allowed_addresses: str = setting(
        "brokerProxyAllowedIPAddresses",
        "*",
        "Addresses, networks, or ranges of hosts in brokerProxyAllowedHostNames; * is every address except loopback,"
        " link-local, and"
        " metadata services, which must be named.",
    )
    allowed_ports: str = setting(
        "brokerProxyAllowedTargetPorts",
        "6650,6651",
        "Ports of hosts in brokerProxyAllowedHostNames, separated by commas; * is any port.",
    )
    connect_seconds: float = setting(
        "brokerProxyConnectTimeoutMs",
        10.0,
        "Maximum time to connect to a broker and authenticate (ms).",
        scale=0.001,
        least=0.01,
    )
    silence_seconds: float = setting(
        "brokerProxyReadTimeoutMs",
        75.0,
        "Time after which the proxy closes a connection to a broker if one of its sides was silent (ms).",
        scale=0.001,
        least=0.01,
    )
    plugin: str = setting(
        "brokerClientAuthenticationPlugin",
        "",
        "Authentication of the proxy to the brokers: AuthenticationToken, AuthenticationBasic, or AuthenticationTls.",
    )
    parameters: str = setting(
        "brokerClientAuthenticationParameters",
        "",
        "Credentials of brokerClientAuthenticationPlugin, such as token:TOKEN or file:///PATH; the file is read"
        " again for each connection.",
    )
    forward_credentials: bool = setting(
        "forwardAuthorizationCredentials",
        False,
        "Whether brokers get the credentials of clients: in addition to the proxy's own, or instead if it has none.",
    )
    tls: bool = setting("tlsEnabledWithBroker", False, "Whether the proxy connects to the brokers over TLS.")
    trust_file: str = setting(
        "brokerClientTrustCertsFilePath",
        "",
        "Certificate authorities of the brokers in PEM form; empty trusts those of the operating system.",
    )
    certificate_file: str = setting(
        "brokerClientCertificateFilePath", "", "Certificate of the proxy for the brokers in PEM form."
    )
    key_file: str = setting("brokerClientKeyFilePath", "", "Private key of the proxy for the brokers in PEM form.")
    verify_hostname: bool = setting(
        "tlsHostnameVerificationEnabled", True, "Whether a broker's certificate must be valid for its host name."
    )

    @property
    def passes_requests_on(self) -> bool:
        """Whether the proxy has an admin API, which is that of the brokers."""
        return bool(self.web_url_tls if self.tls else self.web_url)


@frozen
class ProxyLimits:
    """Bounds of the connections of clients."""

    max_connections: int = setting(
        "maxConcurrentInboundConnections", 10_000, "Maximum number of connections; 0 means no limit.", least=0
    )
    max_connections_per_ip: int = setting(
        "maxConcurrentInboundConnectionsPerIp",
        0,
        "Maximum number of connections from one IP address; 0 means no limit.",
        least=0,
    )
    max_lookups: int = setting(
        "maxConcurrentLookupRequests",
        50_000,
        "Maximum number of lookups and other requests in flight; the proxy refuses more.",
        least=1,
    )
    max_message_size: int = setting(
        "maxMessageSize", 5 * MB, "Maximum size of a message that clients learn before they reach a broker.", least=1
    )
    write_buffer_bytes: int = setting(
        "connectionWriteBufferBytes",
        MB // 4,
        "Unsent bytes per direction of a connection at which the proxy stops reading from the other side.",
        least=1,
    )
    keep_alive_seconds: float = setting(
        "keepAliveIntervalSeconds", 30, "Interval between PINGs to a client that looks up topics (s).", least=0.01
    )


@frozen
class ProxySecurityConfig(SecurityConfig):
    """The clients that may use the proxy."""

    allow_unauthenticated: bool = setting(
        "allowUnauthenticatedAccess",
        False,
        "Whether the proxy may listen on other than loopback addresses if neither it nor the brokers authenticate.",
    )
    original_data: bool = False
    authorization: bool = setting(
        "authorizationEnabled", False, "Requires authenticationEnabled; the brokers check permissions."
    )
    super_users: str = setting("superUserRoles", "", "Roles that may see the proxy's connections.")
    proxies: str = ""
    wildcards: bool = False
    internal_plugin: str = ""
    internal_parameters: str = ""
    authenticate_metrics: bool = setting(
        "authenticateMetricsEndpoint",
        True,
        "Whether /metrics requires authentication, if authenticationEnabled is true.",
    )


@frozen
class ProxyTlsConfig(TlsConfig):
    """TLS listeners of the proxy."""

    broker_port: int = setting(
        "servicePortTls",
        -1,
        "Port of the binary protocol over TLS; 0 picks a free port, -1 has none.",
        least=-1,
        most=65_535,
    )
    web_port: int = setting(
        "webServicePortTls",
        -1,
        "Port of the admin API over TLS; 0 picks a free port, -1 has none.",
        least=-1,
        most=65_535,
    )
    certificate_file: str = setting(
        "tlsCertificateFilePath", "", "Certificate of the proxy in PEM form, followed by its intermediate ones."
    )


@frozen
class ProxyHttpConfig(HttpConfig):
    """Bounds of HTTP requests through the proxy."""

    max_body_bytes: int = setting(
        "httpInputMaxReplayBufferSize",
        5 * MB,
        "Largest body of a request that the proxy keeps, so that it can follow a redirect between brokers (bytes).",
        least=1024,
    )
    request_seconds: float = setting(
        "httpProxyTimeout",
        300.0,
        "Maximum time until the broker's response begins, and then without progress while it is passed back (ms).",
        scale=0.001,
        least=0.01,
    )
    body_memory_mb: int = setting(
        "httpBodyMemoryMB", 128, "Memory for all request bodies that the proxy keeps (MB).", least=2
    )
    max_shown_mb: int = 0
    max_json_values: int = 0
    max_json_depth: int = 0


@frozen
class ProxyConfig(Sections):
    """All sections of the proxy."""

    server: ProxyServerConfig = field(default_factory=ProxyServerConfig)
    brokers: ProxyBrokersConfig = field(default_factory=ProxyBrokersConfig)
    limits: ProxyLimits = field(default_factory=ProxyLimits)
    http: ProxyHttpConfig = field(default_factory=ProxyHttpConfig)
    security: ProxySecurityConfig = field(default_factory=ProxySecurityConfig)
    openid: OpenIdConfig = field(default_factory=OpenIdConfig)
    tls: ProxyTlsConfig = field(default_factory=ProxyTlsConfig)
