"""`pulsarctl standalone`: run the bundled broker in the foreground."""

import gc
import importlib
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pulsarctl import data_directory
from pulsarctl.errors import AlreadyRunning, CliError, UsageProblem
from pulsarctl.output import render
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
    from broker_core.config.sources import LoadedConfig
    from broker_core.config.tls import TlsConfig

TLS_PORT, WEB_TLS_PORT = 6651, 8443
START_THRESHOLD = 100_000  # objects until a collection, while the admin API is imported; then `Collector` chooses
READY = "broker at {service_url}, admin API at {http_url}, data in {data_dir}"
NO_BOOKIES = "ignored --bookkeeper-dir, --bookkeeper-port, and --num-bookies: the bundled broker has no bookies"

app = Noun("standalone", "Run a broker on this machine.")

DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        metavar="DIR",
        help="Data directory. Default: $PULSARCTL_DATA_DIR, or pulsarctl/standalone in the user's data directory.",
    ),
]
HttpPort = Annotated[
    int | None,
    typer.Option("--http-port", min=0, max=65535, help="Port of the admin API; 0 is any free port. Default: 8080."),
]
Advertised = Annotated[
    str | None,
    typer.Option("-a", "--advertised-address", metavar="HOST", help="Host name that the broker advertises to clients."),
]
Tls = Annotated[
    str | None,
    typer.Option(
        "--tls",
        metavar="auto",
        help="Serve TLS, too. The broker creates a certificate authority and certificates in its data directory.",
    ),
]
ConsoleActions = Annotated[
    bool,
    typer.Option("--console-actions", help="Let the web console change things. Without it, the console is read-only."),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option("-c", "--config", metavar="FILE", help="Configuration file: YAML, or Pulsar's standalone.conf."),
]
WipeData = Annotated[bool, typer.Option("--wipe-data", help="Delete all data before starting.")]
ReadyFile = Annotated[
    Path | None,
    typer.Option(
        "--ready-file", metavar="FILE", help="File to create when the broker is ready, and to delete at exit."
    ),
]
PrintUrls = Annotated[
    str | None,
    typer.Option("--print-urls", metavar="json", help="Print the URLs on stdout, as JSON, when the broker is ready."),
]
MetadataDir = Annotated[Path | None, typer.Option("--metadata-dir", hidden=True)]
Ignored = Annotated[str | None, typer.Option(hidden=True)]
NumBookies = Annotated[str | None, typer.Option("--num-bookies", hidden=True)]
NoFunctions = Annotated[bool, typer.Option("-nfw", "--no-functions-worker", hidden=True)]
FunctionsConfig = Annotated[str | None, typer.Option("-fwc", "--functions-worker-conf", hidden=True)]
NoStreamStorage = Annotated[bool, typer.Option("-nss", "--no-stream-storage", hidden=True)]
NoBroker = Annotated[bool, typer.Option("--no-broker", hidden=True)]
OnlyBroker = Annotated[bool, typer.Option("--only-broker", hidden=True)]


@app.verb("standalone")
def standalone(
    call: Call,
    data_dir: DataDir = None,
    port: Port = None,
    http_port: HttpPort = None,
    bind: Bind = None,
    advertised_address: Advertised = None,
    tls: Tls = None,
    allow_unauthenticated: AllowUnauthenticated = False,
    console_actions: ConsoleActions = False,
    config: ConfigFile = None,
    settings: Settings = None,
    wipe_data: WipeData = False,
    ready_file: ReadyFile = None,
    print_urls: PrintUrls = None,
    log_format: LogFormat = "text",
    broker_log_level: LogLevel = "info",
    metadata_dir: MetadataDir = None,
    metadata_url: Ignored = None,
    bookkeeper_dir: Ignored = None,
    bookkeeper_port: Ignored = None,
    num_bookies: NumBookies = None,
    zookeeper_dir: Ignored = None,
    zookeeper_port: Ignored = None,
    no_functions_worker: NoFunctions = False,
    functions_worker_conf: FunctionsConfig = None,
    no_stream_storage: NoStreamStorage = False,
    stream_storage_port: Ignored = None,
    no_broker: NoBroker = False,
    only_broker: OnlyBroker = False,
) -> None:
    """Run a broker in the foreground until Ctrl-C.

    The broker serves Pulsar's binary protocol and admin API on the loopback addresses. It keeps every message that it
    acknowledged, even after kill -9. It accepts the flags of Apache Pulsar's `pulsar standalone`.

    Example: pulsarctl standalone --data-dir ./data --port 6650 --http-port 8080 --tls auto
    """
    _check_platform()
    _check_options(call, tls, no_broker=no_broker)
    check_print_urls(print_urls)
    if bookkeeper_dir or bookkeeper_port or num_bookies:
        render.notice(NO_BOOKIES)
    directory = (data_dir or metadata_dir or data_directory.default_directory(os.environ, Path.home())).absolute()
    flags = {
        "brokerServicePort": port,
        "webServicePort": http_port,
        "bindAddress": bind,
        "advertisedAddress": advertised_address,
        "allowUnauthenticatedAccess": allow_unauthenticated or None,
        "consoleActionsEnabled": console_actions or None,
    }
    loaded = _load(config, settings or [], flags)
    says = READY
    if tls:
        loaded = _with_local_authority(loaded)
        says += f"\nfor TLS: {_tls_options(loaded.config.tls, directory)}"
    start_logging(log_format, broker_log_level)
    _import_broker()
    _run(loaded, directory, Announcement(says, ready_file, print_urls, loaded.warnings), wipe_data=wipe_data)


def _check_platform() -> None:
    if sys.platform == "win32":
        raise CliError(
            "cannot run the bundled broker on Windows", hint="run it on Linux or macOS; all other commands work here"
        )


def _check_options(call: Call, tls: str | None, *, no_broker: bool) -> None:
    if (call.obj or {}).get("embedded"):
        hint = "pulsarctl standalone --data-dir DIR"
        raise UsageProblem("cannot use --embedded with standalone, which is a broker itself", hint=hint)
    if no_broker:
        raise UsageProblem("cannot use --no-broker: the broker is all that this process runs")
    if tls not in (None, "auto"):
        raise UsageProblem(
            f"unknown value '{tls}' of --tls", hint="use auto, or set tlsCertificateFilePath and tlsKeyFilePath"
        )


def _load(file: Path | None, settings: list[str], flags: dict[str, Any]) -> "LoadedConfig":
    """A flag that is None is not given."""
    from broker_core.config.sources import load_config
    from broker_core.errors import InvalidConfiguration

    given = {key: value for key, value in flags.items() if value is not None}
    try:
        return load_config(file, environment=os.environ, options=settings, flags=given)
    except InvalidConfiguration as error:
        raise UsageProblem(str(error)) from error


def _import_broker() -> None:
    """Garbage collections in between would take a fifth of the start: each visits more objects, and finds little."""
    gc.disable()
    try:
        importlib.import_module("broker_core.server.server")
    finally:
        gc.freeze()
        gc.set_threshold(START_THRESHOLD)
        gc.enable()


def _with_local_authority(loaded: "LoadedConfig") -> "LoadedConfig":
    """TLS on Pulsar's ports, unless the configuration names others; free ports beside free ports."""
    server, tls = loaded.config.server, loaded.config.tls
    if not tls.enabled:
        broker_port = 0 if server.broker_port == 0 else TLS_PORT
        tls = replace(tls, broker_port=broker_port, web_port=0 if server.web_port == 0 else WEB_TLS_PORT)
    return loaded._replace(config=replace(loaded.config, tls=replace(tls, local_authority=True)))


def _tls_options(tls: "TlsConfig", directory: Path) -> str:
    """The options that a command needs to use the TLS listeners; the names of their addresses are in braces."""
    from broker_core.server.local_certificates import authority_file

    urls = ["--admin-url {http_url_tls}"] if tls.web_port >= 0 else []
    urls += ["--url {service_url_tls}"] if tls.broker_port >= 0 else []
    authority = authority_file(directory)
    files = {"--tls-trust-cert": authority}
    if tls.require_client_certificate:
        files |= {"--tls-cert": authority.with_name("client.pem"), "--tls-key": authority.with_name("client.key")}
    named = [
        f"{option} {shlex.quote(str(file))}".replace("{", "{{").replace("}", "}}") for option, file in files.items()
    ]
    return " ".join((*urls, *named))


def _run(loaded: "LoadedConfig", directory: Path, announcement: Announcement, *, wipe_data: bool) -> None:
    from broker_core.errors import InvalidConfiguration
    from broker_core.server import process
    from broker_core.server.ports import PortInUse
    from broker_core.server.server import Server
    from broker_core.storage.errors import DirectoryLocked, StorageError

    try:
        server = Server(loaded.config, directory, prepare=lambda: _prepare(directory, wipe_data=wipe_data))
        process.run(server, announcement.say)
    except InvalidConfiguration as error:
        raise UsageProblem(str(error)) from error
    except PortInUse as error:
        raise CliError(str(error)) from error
    except DirectoryLocked as error:
        raise AlreadyRunning(str(error)) from error
    except StorageError as error:
        raise CliError(str(error)) from error
    except OSError as error:
        raise data_directory.unusable(directory, error) from error
    finally:
        announcement.retract()


def _prepare(directory: Path, *, wipe_data: bool) -> None:
    if wipe_data:
        from broker_core.storage.directory import wipe
        from broker_core.storage.disk import RealDisk

        wipe(RealDisk(), directory)
    data_directory.prepare(directory)
