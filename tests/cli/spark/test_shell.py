"""`pulsarctl ops shell`: a program on stdin, with topics as tables."""

import os
import subprocess
import sys
from pathlib import Path

import pulsar
import pytest

pytest.importorskip("pyspark")

from broker_core.testing import EmbeddedBroker
from pulsarctl.auth.portable import portable
from pulsarctl.commands.ops.shell import run
from pulsarctl.errors import CliError
from pulsarctl.settings.client_security import ClientSecurity
from pulsarctl.spark.catalog import table_names
from pulsarctl.spark.java import cache_directory
from pulsarctl.tables.access import Access
from pulsarctl.tables.access_options import options_of
from pulsarctl.tables.options import TableOptions
from tests.support.scalable_topic import ScalableTopic

PROGRAM = """
import pulsar
sql("SELECT partition, count(*) AS n FROM my_orders GROUP BY 1 ORDER BY 1")
client = pulsar.Client(URL, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
client.create_producer("my-orders-partition-1").send(b"late")
client.close()
print("now", spark.table("my_orders").count())
print([table.name for table in spark.catalog.listTables()], spark.table("clicks").count())
"""


@pytest.mark.spark
@pytest.mark.slow
def test_a_program_on_stdin_finds_topics_as_tables_with_their_newest_messages(
    pulsar_broker: EmbeddedBroker, tmp_path: Path
) -> None:
    pulsar_broker.create_partitioned_topic("persistent://public/default/my-orders", 2)
    client = pulsar.Client(pulsar_broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    for partition in (0, 0, 1):
        client.create_producer(f"my-orders-partition-{partition}").send(b"x")
    client.close()
    clicks = ScalableTopic.create(pulsar_broker, "clicks")
    clicks.publish(0, ["a"])
    clicks.split(0)
    clicks.publish(1, ["a"])
    addresses = ["--admin-url", pulsar_broker.http_url, "--url", pulsar_broker.service_url]
    outcome = subprocess.run(  # a process of its own: this one may have another Spark session
        [sys.executable, "-m", "pulsarctl", "ops", "shell", "public/default", "--master", "local[1]", *addresses],
        input=PROGRAM.replace("URL", repr(pulsar_broker.service_url)),
        capture_output=True,
        text=True,
        timeout=110,
        env={**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(cache_directory(os.environ).parent)},
    )
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert outcome.stdout.splitlines() == [
        *("partition  n", "0          2", "1          1"),
        "now 4",
        "['clicks', 'my_orders'] 2",
    ]


def test_an_error_names_the_line_of_the_program() -> None:
    with pytest.raises(CliError, match=r"the program failed in line 2: ZeroDivisionError: division by zero"):
        run("x = 1\nx / 0\n", {})
    with pytest.raises(CliError, match=r"cannot read the program: line 1"):
        run("x = = 1", {})


def test_topics_with_the_same_local_name_are_different_tables() -> None:
    topics = ["persistent://a/b/my-t", "persistent://a/c/my-t", "persistent://a/c/my_t"]
    assert table_names(topics) == {"my_t": topics[0], "a_c_my_t": topics[1], "a_c_my_t_2": topics[2]}


def test_options_of_a_table_carry_the_access_of_the_command() -> None:
    security = portable(ClientSecurity(token="secret", tls_allow_insecure=True))
    access = Access("pulsar+ssl://b:6651", "https://b:8443", security)
    assert TableOptions.parse({"topic": "t", **options_of(access)}).access == access
