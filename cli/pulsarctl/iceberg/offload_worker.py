"""The broker's worker process for offloads that write tables, too: `python -m pulsarctl.iceberg.offload_worker`."""

from broker_core.offload import worker
from pulsarctl.iceberg.offloaded_tables import OffloadedTables

if __name__ == "__main__":
    worker.main(OffloadedTables())
