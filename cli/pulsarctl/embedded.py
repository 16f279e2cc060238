"""`--embedded DIR`: a broker in this process for the duration of one command, or the `standalone` that owns DIR.

A data directory has one owner. A `standalone` shares its broker with every process that can read DIR/owner.json. An
embedded broker is not shared, so the next command waits for the lock. The lock ends with its process, even after a
crash: a stale lock file or a stale owner.json excludes no one.
"""

import dataclasses
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pulsarctl.errors import AlreadyRunning, CliError
from pulsarctl.settings.addresses import service_addresses
from pulsarctl.stop_signals import orderly_end

LOCK_POLL_SECONDS = 0.02
SILENT_SECONDS = 0.5  # a shorter wait needs no notice
ANSWER_SECONDS = 2.0


Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Urls:
    """The addresses of the embedded broker."""

    service_url: str
    http_url: str


@contextmanager
def embedded_broker(
    directory: Path, lock_timeout_seconds: float, log_level: str = "error", say: Say = lambda text: None
) -> Iterator[Urls]:
    """The addresses to use in the block. `say` gets a notice if the directory is in use.

    Raises `AlreadyRunning` naming the owner, or `CliError`.
    """
    directory = directory.expanduser().absolute()
    deadline = time.monotonic() + lock_timeout_seconds
    with orderly_end():
        taken = _take(directory, log_level, deadline, say)
        if isinstance(taken, Urls):
            yield taken
            return
        try:
            yield taken.urls
        finally:
            taken.stop()


def _take(directory: Path, log_level: str, deadline: float, say: Say) -> "Urls | _Embedded":
    """Our own broker on the directory, or the addresses of the `standalone` that owns it."""
    from broker_core.storage.errors import DirectoryLocked

    while (urls := _wait_for_lock(directory, deadline, say)) is None:
        broker = _Embedded(directory, log_level)
        try:
            broker.start()
            return broker
        except DirectoryLocked as error:  # another process was faster
            if time.monotonic() >= deadline:
                raise _locked(directory, error.owner) from error
    return urls


def _wait_for_lock(directory: Path, deadline: float, say: Say) -> Urls | None:
    """None if the directory is free, or the addresses of the `standalone` that owns it. Raises `AlreadyRunning`."""
    from broker_core.storage.directory import owner_of
    from broker_core.storage.disk import RealDisk

    pause = threading.Event()
    started, said = time.monotonic(), False
    while (owner := owner_of(RealDisk(), directory)) is not None:
        urls = _offered(directory, owner)
        if urls is not None:
            return urls
        if time.monotonic() >= deadline:
            raise _locked(directory, owner)
        if not said and time.monotonic() - started > SILENT_SECONDS:
            said = True
            say(f"waiting for the data directory {directory}, which {owner or 'another process'} uses")
        pause.wait(LOCK_POLL_SECONDS)
    return None


def _locked(directory: Path, owner: str) -> AlreadyRunning:
    return AlreadyRunning(
        f"cannot use the data directory {directory}: it is in use by {owner or 'another process'}",
        hint="wait longer with --lock-timeout, or share the directory by running 'pulsarctl standalone' on it",
    )


def _offered(directory: Path, owner: str) -> Urls | None:
    """The addresses in owner.json, if the owner of the lock wrote them and its broker answers."""
    try:
        offer = json.loads((directory / "owner.json").read_text(encoding="utf-8"))
        if f"process {offer['pid']}" != owner:
            return None
        urls = Urls(offer["service_url"], offer["http_url"])
        socket.create_connection(service_addresses(urls.service_url)[0], ANSWER_SECONDS).close()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return urls


class _Embedded:
    """The broker in this process, configured by the environment, on free loopback ports."""

    def __init__(self, directory: Path, log_level: str) -> None:
        from broker_core.config.sources import load_config
        from broker_core.errors import InvalidConfiguration
        from broker_core.log import start_logging
        from broker_core.testing import EmbeddedBroker

        start_logging("text", {"warn": "warning"}.get(log_level, log_level))
        try:
            config = load_config(environment=os.environ).config
        except InvalidConfiguration as error:
            raise CliError(str(error)) from error
        server = dataclasses.replace(
            config.server, broker_port=0, web_port=0, bind_address="", advertised_address="localhost"
        )
        self._directory = directory
        self._broker = EmbeddedBroker(directory, config=config.replace(server=server))

    @property
    def urls(self) -> Urls:
        return Urls(self._broker.service_url, self._broker.http_url)

    def start(self) -> None:
        from broker_core.metadata.tenancy.cluster_name import OtherCluster
        from broker_core.storage.errors import DirectoryLocked, StorageError

        try:
            self._broker.start()
            (self._directory / "owner.json").unlink(missing_ok=True)  # left by a `standalone` that was killed
        except DirectoryLocked:
            raise
        except OtherCluster as error:
            problem = f"cannot use the data directory {self._directory}: it belongs to cluster {error.name}"
            raise CliError(problem, hint=f"set PULSARCTL_CONF_clusterName={error.name} in the environment") from error
        except StorageError as error:
            raise CliError(str(error)) from error
        except OSError as error:
            raise CliError(f"cannot use the data directory {self._directory}: {error.strerror or error}") from error

    def stop(self) -> None:
        self._broker.stop()
