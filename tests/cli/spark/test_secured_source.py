"""The data source on a broker with TLS, authentication, and authorization."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pulsar
import pytest

pytest.importorskip("pyspark")

from pulsarctl.spark import register
from tests.clients.secured_broker import Secured, secured_broker
from tests.support.secured import token

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TOPIC = "persistent://public/default/secured"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with secured_broker(tmp_path_factory.mktemp("secured")) as found:
        yield found


def read(spark: SparkSession, broker: Secured, **credentials: str) -> DataFrame:
    register(spark)
    where = {"service_url": broker.service_url, "admin_url": broker.admin_url}
    options = {**where, "tls_trust_cert_path": broker.trust_file, **credentials}
    return spark.read.format("pulsar").options(topic=TOPIC, **options).load()


def test_messages_are_read_over_tls_with_a_token(spark: SparkSession, broker: Secured) -> None:
    official = pulsar.Client(
        broker.service_url,
        authentication=pulsar.AuthenticationToken(broker.token),
        tls_trust_certs_file_path=broker.trust_file,
        logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error),
    )
    with closing(official):
        producer = official.create_producer(TOPIC)
        for number in range(10):
            producer.send(b"%d" % number)
    frame = read(spark, broker, token_file=str(broker.folder / "token"))
    assert sorted(int(bytes(row.value)) for row in frame.select("value").collect()) == list(range(10))


def test_a_wrong_token_is_a_refusal_that_does_not_show_it(spark: SparkSession, broker: Secured, tmp_path: Path) -> None:
    wrong = tmp_path / "token"
    wrong.write_text(token("admin") + "AAAA")
    with pytest.raises(Exception, match=r"(?i)authenticat") as caught:
        read(spark, broker, token_file=str(wrong)).collect()
    assert wrong.read_text() not in str(caught.value)
