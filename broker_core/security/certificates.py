"""The TLS contexts of the listeners, made from files and made again when the files change.

Listeners keep one context, which starts each new connection with the current one. Connections that exist keep what
they have. Files that cannot be used are reported, and the last good ones stay.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from typing import TYPE_CHECKING, Any

from broker_core.errors import InvalidConfiguration

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_core.config.tls import TlsConfig

log = logging.getLogger(__name__)

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_TOO_WEAK = {
    "CA_MD_TOO_WEAK": "a certificate is signed with SHA-1 or MD5, which OpenSSL refuses because it can be forged",
    "EE_KEY_TOO_SMALL": "the key of the certificate is too small to be secure",
    "CA_KEY_TOO_SMALL": "the key of the authority is too small to be secure",
}
WEAK_CIPHERS = "DEFAULT@SECLEVEL=0"
"""Lets OpenSSL accept weak certificates, and weak ciphers as well."""

_State = tuple[tuple[int, int, int], ...]


class CurrentContext(ssl.SSLContext):
    """Stands for `current` wherever asyncio starts a connection, which is all that it asks of a server's context.

    Not a server name callback: a name that is not ASCII never reaches it, and leaves a traceback on stderr.
    """

    current: ssl.SSLContext

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        return self.current.wrap_bio(*args, **kwargs)


class Certificates:
    """`context`: for `create_server`. `renew` replaces files that expire soon, before each look at them."""

    def __init__(self, config: TlsConfig, renew: Callable[[], None] | None = None) -> None:
        """Raises `InvalidConfiguration`."""
        self._renew = renew
        if config.allow_insecure:
            raise InvalidConfiguration(
                "cannot use tlsAllowInsecureConnection: with it, anyone can create a certificate for any role;"
                " set tlsTrustCertsFilePath"
            )
        if not config.certificate_file or not config.key_file:
            raise InvalidConfiguration("TLS ports need tlsCertificateFilePath and tlsKeyFilePath")
        if config.require_client_certificate and not config.trust_file:
            raise InvalidConfiguration("tlsRequireTrustedClientCertOnConnect needs tlsTrustCertsFilePath")
        self._config = config
        self._state = self._look()
        self.context = CurrentContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.current = self._load()

    def _look(self) -> _State:
        """Changes whenever one of the files does."""
        config = self._config
        versions = []
        for path in filter(None, (config.certificate_file, config.key_file, config.trust_file)):
            try:
                status = os.stat(path)
                versions.append((status.st_mtime_ns, status.st_size, status.st_ino))
            except OSError:
                versions.append((0, 0, 0))
        return tuple(versions)

    def _load(self) -> ssl.SSLContext:
        config = self._config
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        names = [name.strip() for name in config.protocols.split(",") if name.strip()] or list(_VERSIONS)
        for name in names:
            if name not in _VERSIONS:
                raise InvalidConfiguration(f"unknown name {name!r} in tlsProtocols; use {', '.join(_VERSIONS)}")
        context.minimum_version = min(_VERSIONS[name] for name in names)
        context.maximum_version = max(_VERSIONS[name] for name in names)
        # A resumed session would keep the client certificate of an earlier connection.
        context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
        context.num_tickets = 0
        try:
            if config.ciphers:
                context.set_ciphers(_openssl_ciphers(config.ciphers))
            context.load_cert_chain(config.certificate_file, config.key_file, _no_password)
            if config.trust_file:
                context.load_verify_locations(config.trust_file)
                required = config.require_client_certificate
                context.verify_mode = ssl.CERT_REQUIRED if required else ssl.CERT_OPTIONAL
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            names_of_files = ", ".join(filter(None, (config.certificate_file, config.key_file, config.trust_file)))
            raise InvalidConfiguration(f"cannot use the TLS files {names_of_files}: {_words(error)}") from None
        return context

    def reload(self) -> bool:
        """Uses changed files for new connections; False if nothing changed, or if they cannot be used."""
        state = self._look()
        if state == self._state:
            return False
        try:
            self.context.current = self._load()
        except InvalidConfiguration as error:
            log.error("%s; the broker keeps the current certificates", error)
            return False
        finally:
            self._state = state
        log.info("new connections use the changed certificates in %s", self._config.certificate_file)
        return True

    async def watch(self) -> None:
        while self._config.refresh_seconds:
            await asyncio.sleep(self._config.refresh_seconds)
            await asyncio.to_thread(self.renew)

    def renew(self) -> None:
        """Replaces files that expire soon, and uses those that have changed."""
        if self._renew is not None:
            try:
                self._renew()
            except (InvalidConfiguration, OSError) as error:
                log.error("cannot renew the certificates: %s; the broker keeps the current ones", error)
        self.reload()


def _no_password() -> str:
    """Without it, OpenSSL would ask on the terminal."""
    raise ValueError("the private key is encrypted; decrypt it with openssl pkey")


def _words(error: OSError | ValueError) -> str:
    reason = getattr(error, "reason", None)  # not every error of the library has one
    if reason in _TOO_WEAK:
        return (
            f"{_TOO_WEAK[reason]}; create one with an RSA key of 2048 bits or more and SHA-256,"
            f" or accept the risk with tlsCiphers={WEAK_CIPHERS}"
        )
    return str(error)


def _openssl_ciphers(names: str) -> str:
    """The names that OpenSSL knows; those of TLS 1.3 are fixed."""
    ciphers = [_openssl_cipher(name.strip()) for name in names.split(",") if name.strip()]
    return ":".join(name for name in ciphers if name)


def _openssl_cipher(name: str) -> str:
    """`TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384` is `ECDHE-RSA-AES256-GCM-SHA384`."""
    if not name.startswith("TLS_"):
        return name
    if "_WITH_" not in name:
        return ""
    exchange, _, cipher = name.removeprefix("TLS_").partition("_WITH_")
    cipher = cipher.replace("AES_128", "AES128").replace("AES_256", "AES256")
    cipher = cipher.replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305").replace("_CBC_", "_")
    return f"{exchange}_{cipher}".removeprefix("RSA_").replace("_", "-")
