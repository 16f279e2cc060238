"""Apache Iceberg's own REST catalog server, from Maven's jars: the one that its clients are tested with.

It downloads about 80 MB once into a cache directory (`PULSARCTL_TEST_CACHE`, default `~/.cache/pulsarctl-tests`).
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.long.real_pulsar.java_pulsar import free_ports, jars, java_command
from tests.support.condition import wait_until
from tests.support.http_servers import answers

VERSION = "1.10.1"
FETCH_SECONDS = 150.0  # then the tests are skipped: the suite has a limit of its own
START_SECONDS = 200.0  # on a busy machine
STOP_SECONDS = 30.0
QUICK = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


@contextmanager
def java_rest_catalog(directory: Path) -> Iterator[str]:
    """The URL of a server that keeps its tables in the directory. Raises `Missing` without Maven or Java."""
    java, folder = java_command(), jars(f"rest-catalog-{VERSION}", Path(__file__).with_name("pom.xml"), FETCH_SECONDS)
    (port,) = free_ports(1)
    settings = {
        "CATALOG_CATALOG__IMPL": "org.apache.iceberg.jdbc.JdbcCatalog",
        "CATALOG_URI": f"jdbc:sqlite:{directory / 'catalog.sqlite'}",
        "CATALOG_WAREHOUSE": f"file://{directory}/lake",
        "CATALOG_REST_PORT": str(port),
    }
    log = directory / "server.log"
    command = [java, *QUICK, "-cp", f"{folder}/*", "org.apache.iceberg.rest.RESTCatalogServer"]
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=os.environ | settings, stdout=out, stderr=out)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: process.poll() is not None or answers(f"{url}/v1/config"), START_SECONDS)
        assert process.poll() is None, log.read_text()
        yield url
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)
