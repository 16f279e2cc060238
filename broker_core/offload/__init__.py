"""Tiered storage: copies of sealed ledgers as Parquet files in a directory or an object store.

Imports storage, policies, and the configuration; topics and the broker import it. pyarrow is optional, and is imported
by the modules here when the first ledger is offloaded or read.
"""
