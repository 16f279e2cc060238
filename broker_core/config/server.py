"""The addresses of the broker, those that it tells clients, and the limits of one connection."""

from broker_core.config.frozen import frozen
from broker_core.config.setting import MB, setting


@frozen
class ServerConfig:
    """Ports and addresses of the broker, and its stop."""

    cluster_name: str = setting(
        "clusterName",
        "standalone",
        "Cluster name; part of generated producer names. A data directory keeps the name of its first start.",
    )
    bind_address: str = setting(
        "bindAddress", "", "Address to listen on; empty listens on the loopback addresses 127.0.0.1 and ::1."
    )
    advertised_address: str = setting("advertisedAddress", "localhost", "Host name that the broker returns in lookups.")
    advertised_listeners: str = setting(
        "advertisedListeners",
        "",
        "Addresses of the broker in several networks: NAME:SCHEME://HOST:PORT, separated by commas"
        " (docs/explanation/scaling.md).",
    )
    internal_listener: str = setting(
        "internalListenerName",
        "",
        "Listener for clients that name none; empty means the first of advertisedListeners, and internal, unless it is"
        " one of them, the broker's own address.",
    )
    bind_addresses: str = setting(
        "bindAddresses",
        "",
        "More addresses to listen on, whose clients get the addresses of a listener without naming it:"
        " LISTENER:SCHEME://IP:PORT, separated by commas (docs/explanation/scaling.md).",
    )
    status_file: str = setting(
        "statusFilePath", "", "File without which /status.html answers 404; empty needs no file."
    )
    leave_seconds: float = setting(
        "brokerReadinessDelayMs",
        0.0,
        "Time after SIGTERM in which /status.html answers 503 and the broker still serves, so that load balancers can"
        " leave (ms).",
        scale=0.001,
        least=0,
    )
    broker_port: int = setting(
        "brokerServicePort",
        6650,
        "Port of the binary protocol without TLS; 0 picks a free port, -1 or an empty value has none.",
        least=-1,
        most=65_535,
        empty=-1,
    )
    web_port: int = setting(
        "webServicePort",
        8080,
        "Port of the admin REST API without TLS; 0 picks a free port, -1 or an empty value has none.",
        least=-1,
        most=65_535,
        empty=-1,
    )
    allowed_hosts: str = setting(
        "webServiceAllowedHosts",
        "",
        "Additional host names, separated by commas, that reach the admin API over loopback and whose web pages can use"
        " it; * allows every name.",
    )
    shutdown_timeout_ms: int = setting(
        "brokerShutdownTimeoutMs", 10_000, "Maximum time for a clean shutdown (ms).", least=0, dynamic=True
    )


@frozen
class ConnectionConfig:
    """Bounds of the connections of clients."""

    max_message_size: int = setting("maxMessageSize", 5 * MB, "Maximum size of a message (bytes).", least=1)
    keep_alive_seconds: float = setting(
        "keepAliveIntervalSeconds", 30, "Interval between PINGs in both directions (s).", least=0.01
    )
    liveness_timeout_ms: int = setting(
        "connectionLivenessCheckTimeoutMillis",
        5_000,
        "Time in which a connection that holds a requested name must answer a PING (ms); 0 disables the check.",
    )
    max_connections: int = setting(
        "brokerMaxConnections", 0, "Maximum number of connections; 0 means no limit.", least=0
    )
    max_connections_per_ip: int = setting(
        "brokerMaxConnectionsPerIp", 0, "Maximum number of connections from one IP address; 0 means no limit.", least=0
    )
    max_pending_publishes: int = setting(
        "maxPendingPublishRequestsPerConnection",
        20_000,
        "Waiting publishes and acknowledgments above which the broker stops reading from a connection.",
        least=1,
    )
    max_non_persistent: int = setting(
        "maxConcurrentNonPersistentMessagePerConnection",
        1000,
        "Messages in flight to non-persistent topics per connection; the broker drops messages above this number.",
        least=1,
    )
    max_incomplete_mb: int = setting(
        "maxIncompleteFramesSizeInMB",
        64,
        "Memory for incomplete frames of all connections (MB); above it, large frames wait for one another.",
        least=1,
    )
    incomplete_seconds: float = setting(
        "incompleteFrameTimeoutSeconds",
        15,
        "Time in which a frame must arrive while maxIncompleteFramesSizeInMB is used up (s); then its connection is"
        " closed.",
        least=0.1,
    )
    write_buffer_bytes: int = setting(
        "connectionWriteBufferBytes",
        MB // 8,
        "Unsent bytes per connection at which its consumers get no more messages.",
        least=1,
    )
    max_consumer_metadata_size: int = setting(
        "maxConsumerMetadataSize", 1024, "Maximum size of a consumer's metadata (bytes).", least=0
    )
    max_lookups: int = setting(
        "maxConcurrentLookupRequest",
        50_000,
        "Maximum number of lookups and other requests in flight per connection; the broker refuses more.",
        least=1,
        dynamic=True,
    )
