"""The section of the configuration that bounds what the admin API's clients may hold. Read `config` first."""

from dataclasses import dataclass

from broker_core.config.setting import MB, setting


@dataclass(frozen=True, slots=True)
class HttpConfig:
    max_connections: int = setting(
        "maxHttpServerConnections", 2048, "Most connections of the admin API at a time; more get 503.", least=1
    )
    max_requests: int = setting(
        "maxConcurrentHttpRequests", 1024, "Most requests of the admin API at a time; more get 503.", least=1
    )
    max_header_bytes: int = setting(
        "httpMaxRequestHeaderSize",
        8192,
        "Largest line of a request's head, and a quarter of the head (bytes).",
        least=256,
    )
    max_body_bytes: int = setting("httpMaxRequestSize", MB, "Largest body of a request (bytes).", least=1024)
    idle_seconds: float = setting(
        "httpServerIdleTimeout",
        30.0,
        "How long a connection may take to send a request's head, or its body (ms).",
        scale=0.001,
        least=0.01,
    )
    request_seconds: float = setting(
        "httpRequestTimeoutMs",
        60.0,
        "How long a request may take, and as long again for the client to read the answer (ms).",
        scale=0.001,
        least=0.01,
    )
    body_memory_mb: int = setting(
        "httpBodyMemoryMB",
        128,
        "Memory for the bodies of requests and the messages in answers, of all clients together (MB).",
        least=2,
    )
    max_shown_mb: int = setting(
        "httpMaxMessageMB", 32, "Largest message, decompressed, that peek and examine show (MB).", least=1
    )
    max_json_values: int = setting(
        "httpMaxJsonValues", 50_000, "Most values in the JSON body of a request.", least=1000
    )
    max_json_depth: int = setting("httpMaxJsonDepth", 100, "Deepest nesting of the JSON body of a request.", least=10)
