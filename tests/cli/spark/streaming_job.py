"""A streaming query in a process of its own, for tests that kill it: a topic -> Parquet files, with a checkpoint.

    python -m tests.cli.spark.streaming_job MASTER SERVICE_URL ADMIN_URL TOPIC FOLDER [--drain]

`--drain` reads what is left, and prints a line for each row of the sink: the number of the message, and its MD5.
"""

import sys
from pathlib import Path

from pulsarctl.spark import register
from pulsarctl.spark.session import spark_session

SUBSCRIPTION = "query"
MESSAGES_PER_TRIGGER = 150  # so that there are many micro-batches, and large messages begin in one and end in another
NUMBER = "cast(substring(cast(value as string), 1, 8) as int)"
SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
}


def main(master: str, service_url: str, admin_url: str, topic: str, folder: Path, *, drains: bool) -> None:
    with spark_session("streaming job", master, options=SETTINGS, short=True) as spark:
        register(spark)
        source = spark.readStream.format("pulsar").options(
            service_url=service_url,
            admin_url=admin_url,
            topic=topic,
            start="earliest",
            subscription=SUBSCRIPTION,
            max_messages_per_trigger=MESSAGES_PER_TRIGGER * (10 if drains else 1),
            tasks_min=4,
        )
        rows = source.load().selectExpr(f"{NUMBER} as number", "md5(value) as digest")
        writer = rows.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
        writer = writer.trigger(availableNow=True) if drains else writer
        writer.start(str(folder / "out")).awaitTermination()
        if drains:
            for row in spark.read.parquet(str(folder / "out")).toLocalIterator():
                print(row.number, row.digest)  # noqa: T201  # the result of this process


if __name__ == "__main__":
    master, service_url, admin_url, topic, folder, *options = sys.argv[1:]
    main(master, service_url, admin_url, topic, Path(folder), drains="--drain" in options)
