"""`pulsarctl proxy`: run a proxy in front of brokers, in the foreground."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.serving import (
    AllowUnauthenticated,
    Announcement,
    Bind,
    LogFormat,
    LogLevel,
    Port,
    Settings,
    check_print_urls,
    start_logging,
)

if TYPE_CHECKING:
    from broker_core.config.proxy import ProxyConfig
    from broker_core.config.reading import Gathered

app = Noun("proxy", "Run a proxy in front of brokers.")

Brokers = Annotated[
    str | None,
    typer.Option(
        "--brokers", metavar="URL", help="Service URL of the brokers: pulsar://HOST:PORT[,HOST:PORT...], or pulsar+ssl."
    ),
]
BrokersWeb = Annotated[
    str | None,
    typer.Option("--brokers-web", metavar="URL", help="Admin URL of the brokers: http://HOST:PORT[,...], or https."),
]
HttpPort = Annotated[
    int | None,
    typer.Option(
        "--http-port", min=0, max=65535, help="Port of the admin API and metrics; 0 is any free port. Default: 8080."
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option("-c", "--config", metavar="FILE", help="Configuration file: YAML, or Pulsar's proxy.conf."),
]
ReadyFile = Annotated[
    Path | None,
    typer.Option("--ready-file", metavar="FILE", help="File to create when the proxy is ready, and to delete at exit."),
]
PrintUrls = Annotated[
    str | None,
    typer.Option("--print-urls", metavar="json", help="Print the URLs on stdout, as JSON, when the proxy is ready."),
]


@app.verb("proxy")
def proxy(
    call: Call,
    brokers: Brokers = None,
    brokers_web: BrokersWeb = None,
    port: Port = None,
    http_port: HttpPort = None,
    bind: Bind = None,
    allow_unauthenticated: AllowUnauthenticated = False,
    config: ConfigFile = None,
    settings: Settings = None,
    ready_file: ReadyFile = None,
    print_urls: PrintUrls = None,
    log_format: LogFormat = "text",
    proxy_log_level: LogLevel = "info",
) -> None:
    """Run a proxy in the foreground until Ctrl-C.

    The proxy is one address for the clients of brokers that they cannot reach. It answers lookups, connects clients to
    their brokers, and passes on requests to the admin API. It works with the bundled broker and with Apache Pulsar, and
    reads Pulsar's proxy.conf. On SIGTERM, it lets connections leave before it ends.

    Example: pulsarctl proxy --brokers pulsar://broker:6650 --brokers-web http://broker:8080
    """
    if (call.obj or {}).get("embedded"):
        raise UsageProblem("cannot use --embedded with proxy: it needs the address of a broker", hint="use --brokers")
    check_print_urls(print_urls)
    flags = {
        "servicePort": port,
        "webServicePort": http_port,
        "bindAddress": bind,
        "allowUnauthenticatedAccess": allow_unauthenticated or None,
        **_brokers(brokers, brokers_web),
    }
    loaded = _load(config, settings or [], {key: value for key, value in flags.items() if value is not None})
    start_logging(log_format, proxy_log_level)
    _run(loaded.config, Announcement(_sentence(loaded.config), ready_file, print_urls, loaded.warnings))


def _sentence(config: "ProxyConfig") -> str:
    if config.brokers.passes_requests_on:
        return "proxy at {service_url}, admin API at {http_url}"
    return "proxy at {service_url}, metrics at {http_url}/metrics; for the admin API, set --brokers-web"


def _brokers(service_url: str | None, web_url: str | None) -> dict[str, Any]:
    """The keys of the URLs, which depend on their schemes. Raises `UsageProblem` if only one of them is TLS."""
    secure = (service_url or "").startswith("pulsar+ssl://")
    web_scheme = (web_url or "").partition("://")[0]
    if service_url and web_scheme == ("http" if secure else "https"):
        raise UsageProblem(
            f"cannot use --brokers {service_url} with --brokers-web {web_url}: only one of them is TLS",
            hint="use pulsar+ssl:// and https://, or pulsar:// and http://",
        )
    urls: dict[str, Any] = {"brokerServiceURLTLS" if secure else "brokerServiceURL": service_url}
    urls["brokerWebServiceURLTLS" if (web_url or "").startswith("https://") else "brokerWebServiceURL"] = web_url
    if secure:
        urls["tlsEnabledWithBroker"] = True
    return urls


def _load(file: Path | None, settings: list[str], flags: dict[str, Any]) -> "Gathered[ProxyConfig]":
    from broker_core.config.proxy_sources import load_proxy_config
    from broker_core.errors import InvalidConfiguration

    try:
        return load_proxy_config(file, environment=os.environ, options=settings, flags=flags)
    except InvalidConfiguration as error:
        raise UsageProblem(str(error)) from error


def _run(config: "ProxyConfig", announcement: Announcement) -> None:
    from broker_core.errors import InvalidConfiguration
    from broker_core.proxy import process
    from broker_core.proxy.server import Proxy
    from broker_core.server.ports import PortInUse

    try:
        process.run(Proxy(config), announcement.say)
    except InvalidConfiguration as error:
        raise UsageProblem(str(error)) from error
    except (PortInUse, OSError) as error:
        raise CliError(str(error)) from error
    finally:
        announcement.retract()
