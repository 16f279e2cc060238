# %% [markdown]
# # A topic as a table
#
# Run the cells one after the other, or the whole file as a script:
# `python examples/orders_notebook.py [SERVICE_URL ADMIN_URL]`.
# It needs `pip install 'pulsarctl[spark]'` and a broker.

# %%
import contextlib
import sys

import pulsar
from pyspark.sql import functions

from pulsarctl.spark import register
from pulsarctl.spark.session import spark_session

SERVICE_URL, ADMIN_URL = sys.argv[1:] if len(sys.argv) == 3 else ("pulsar://localhost:6650", "http://localhost:8080")
TOPIC = "persistent://public/default/example-payments"

# %% [markdown]
# Send a few payments.

# %%
with contextlib.closing(pulsar.Client(SERVICE_URL, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))) as client:
    producer = client.create_producer(TOPIC)
    for customer, amount in [("ada", "12.50"), ("bob", "3.20"), ("ada", "7.99")]:
        producer.send(amount.encode(), partition_key=customer)

# %% [markdown]
# Start a local Spark, and register the data source. `spark_session` is a context manager, which `ExitStack` keeps open.

# %%
cells = contextlib.ExitStack()
spark = cells.enter_context(spark_session("payments", "local[2]"))
register(spark)

# %%
payments = (
    spark.read.format("pulsar")
    .option("service_url", SERVICE_URL)
    .option("admin_url", ADMIN_URL)
    .option("topic", TOPIC)
    .load()
)

# %% [markdown]
# What did each customer pay?

# %%
amount = functions.col("value").cast("string").cast("double")
payments.groupBy("key").agg(functions.round(functions.sum(amount), 2).alias("paid")).orderBy("key").show()

# %% [markdown]
# Stop Spark.

# %%
cells.close()
