"""The settings of this machine, its runtimes, and the certificates that a client sees."""

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from pulsarctl.client import certificates
from pulsarctl.diagnosis.checkup.client_rules import Certificate, Configuration, Runtimes
from pulsarctl.errors import CliError
from pulsarctl.settings import contexts
from pulsarctl.settings.settings import Settings

if TYPE_CHECKING:
    from cryptography.x509 import Certificate as X509


def configuration(settings: Settings, environ: Mapping[str, str]) -> Configuration:
    return Configuration(
        settings.web_url,
        settings.origin("web_url"),
        settings.service_url,
        settings.origin("service_url"),
        settings.notices,
        tuple(str(path) for path in _secret_files(settings, environ) if _others_can_read(path)),
        bool(settings.token or settings.token_file or settings.auth_params),
        settings.tls_allow_insecure,
    )


def runtimes(environ: Mapping[str, str]) -> Runtimes:
    """Imports no Spark: that would take a second."""
    spark = version_of("pyspark")
    if spark is None:
        return Runtimes(None, None)
    from pulsarctl.spark.java import cache_directory, find_java

    try:
        java = find_java(environ, cache_directory(environ))
    except CliError:
        return Runtimes(spark, None)
    return Runtimes(spark, java.version, str(java.home))


def seen_certificates(settings: Settings, timeout_seconds: float) -> list[Certificate]:
    """The certificates of each server that is reached with TLS, and of the client."""
    certificates_seen = [
        _certificate(
            f"the certificate of the {name} at {address}", partial(certificates.served, address, timeout_seconds)
        )
        for name, url in (("admin API", settings.web_url), ("broker", settings.service_url))
        for address in certificates.tls_addresses(url)
    ]
    if path := settings.tls_cert_file:
        certificates_seen.append(_certificate(f"the client certificate {path}", partial(certificates.stored, path)))
    return certificates_seen


def version_of(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _certificate(place: str, read: Callable[[], "X509"]) -> Certificate:
    try:
        return Certificate(place, certificates.not_after_ms(read()))
    except (CliError, OSError, ValueError) as error:
        return Certificate(place, failure=str(error))


def _secret_files(settings: Settings, environ: Mapping[str, str]) -> Iterator[Path]:
    path = contexts.default_path(environ)
    file = contexts.ContextFile(path)
    if any(name in file.fields(context) for context in file.names for name in ("token", "auth_params")):
        yield path
    for name in (settings.token_file, settings.tls_key_file):
        if name:
            yield Path(name).expanduser()


def _others_can_read(path: Path) -> bool:
    with suppress(OSError):
        return os.name == "posix" and bool(path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))
    return False
