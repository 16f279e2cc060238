"""The section of the configuration that bounds the resources of admin API clients. Read `config` first."""

from broker_core.config.frozen import frozen
from broker_core.config.setting import MB, setting


@frozen
class HttpConfig:
    """Bounds of the admin API."""

    max_connections: int = setting(
        "maxHttpServerConnections",
        2048,
        "Maximum number of connections to the admin API; additional ones get status 503.",
        least=1,
    )
    max_connections_per_ip: int = setting(
        "maxHttpServerConnectionsPerIp",
        1024,
        "Maximum number of connections to the admin API from one IP address; 0 means no limit.",
        least=0,
    )
    max_requests: int = setting(
        "maxConcurrentHttpRequests",
        1024,
        "Maximum number of concurrent requests to the admin API; additional ones get status 503.",
        least=1,
    )
    max_header_bytes: int = setting(
        "httpMaxRequestHeaderSize",
        8192,
        "Maximum length of a line in a request's header, and a quarter of the maximum header size (bytes).",
        least=256,
    )
    max_body_bytes: int = setting("httpMaxRequestSize", MB, "Maximum size of a request body (bytes).", least=1024)
    max_places_mb: int = setting(
        "httpMaxCompactionPlacesMB",
        64,
        "Maximum size of what pulsarctl ops compact sends to the broker, one to six bytes for each key (MB).",
        least=1,
    )
    idle_seconds: float = setting(
        "httpServerIdleTimeout",
        30.0,
        "Time in which a connection must send a request's header, and then its body (ms).",
        scale=0.001,
        least=0.01,
    )
    request_seconds: float = setting(
        "httpRequestTimeoutMs",
        60.0,
        "Maximum time for a request, and again for the client to read the response (ms).",
        scale=0.001,
        least=0.01,
    )
    body_memory_mb: int = setting(
        "httpBodyMemoryMB",
        128,
        "Memory for all request bodies and all messages in responses (MB).",
        least=2,
    )
    max_shown_mb: int = setting(
        "httpMaxMessageMB", 32, "Maximum decompressed size of a message that peek and examine return (MB).", least=1
    )
    max_json_values: int = setting(
        "httpMaxJsonValues", 30_000, "Maximum number of values in a JSON request body.", least=1000
    )
    max_json_depth: int = setting("httpMaxJsonDepth", 100, "Maximum nesting depth of a JSON request body.", least=10)
