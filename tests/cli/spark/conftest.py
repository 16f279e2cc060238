"""One Spark session for the tests of this directory, since starting one takes seconds. A process can have only one."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from pulsarctl.spark.session import spark_session
from tests.support.export_buckets import set_credentials

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="package")
def spark() -> "Iterator[SparkSession]":
    pytest.importorskip("pyspark")
    with pytest.MonkeyPatch.context() as patch:
        set_credentials(patch)  # Python workers have the environment in which the session started
        with spark_session("tests", "local[2]", options={"spark.sql.shuffle.partitions": "2"}, short=True) as session:
            yield session
