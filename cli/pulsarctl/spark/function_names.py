"""Functions that Spark does not have, found without a start of Spark, which takes seconds."""

from typing import Any

from sqlglot import exp

_SQL_ONLY = """
approx_top_k approx_top_k_accumulate approx_top_k_combine approx_top_k_estimate bigint binary boolean collations
date double float from_avro from_protobuf int len localtime luhn_check map measure mod percentile_cont
percentile_disc python_worker_logs range schema_of_avro smallint space sql_keywords string time timestamp tinyint
to_avro to_protobuf variant_explode variant_explode_outer
"""
"""`SHOW FUNCTIONS` of Spark 4.3 without those of `pyspark.sql.functions`. sqlglot knows most of the newer ones."""
_FILES = (exp.ReadCSV, exp.ReadParquet)  # functions of DuckDB; sqlglot reads them in every language


def unknown_to_spark(tree: Any) -> list[str]:
    """The names that neither sqlglot nor PySpark knows as functions of Spark."""
    from pyspark.sql import functions

    known = frozenset(_SQL_ONLY.split()).union(name.lower() for name in dir(functions))
    written = {node.name.lower() for node in tree.find_all(exp.Anonymous)}
    files = {node.sql_name().lower() for node in tree.find_all(*_FILES)}
    return sorted((written | files) - known)
