"""A second cluster, to which the tests of migration move their topics, and the command that does it."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.clients.tool_chains import Broker
from tests.support.broker_process import BrokerProcess
from tests.support.proxy_process import PULSARCTL


@contextmanager
def other_cluster(scratch: Path, broker: Broker) -> Iterator[Mapping[str, str]]:
    """Yields the variables: GREEN_SERVICE_URL, and the program MIGRATE, which moves the topic that it gets.

    This cluster also exposes the metadata of entries, which the one under test does not, as by default.
    """
    home = scratch / "home"
    home.mkdir()
    with BrokerProcess(scratch / "green", "exposingBrokerEntryMetadataToClientEnabled=true") as green:
        _save_context(home, "blue", broker.service_url, broker.admin_url)
        _save_context(home, "green", green.service_url, green.http_url)
        program = scratch / "migrate"
        command = shlex.join([str(PULSARCTL), "migrate", "blue", "green"])
        program.write_text(
            f'#!/bin/sh\nHOME={shlex.quote(str(home))} exec {command} --topic "$1" --switch --yes\n', encoding="utf-8"
        )
        program.chmod(0o755)
        yield {"GREEN_SERVICE_URL": green.service_url, "MIGRATE": str(program)}


def _save_context(home: Path, name: str, service_url: str, admin_url: str) -> None:
    addresses = ["--admin-url", admin_url, "--url", service_url]
    subprocess.run(
        [str(PULSARCTL), *addresses, "context", "set", name],
        env={**os.environ, "HOME": str(home)},
        check=True,
        capture_output=True,
        timeout=60,
    )
