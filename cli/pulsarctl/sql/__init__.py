"""Topics as tables of SQL: `ops sql`, `ops shell`.

statement    text -> one checked SELECT and its references to topics
conditions   what WHERE says about a reference: publish times, ledgers, entries, partitions
constants    the values that conditions compare with
planning     a reference -> a table and its parts, all as of one moment
database     DuckDB in memory, for `constants` and `local`
local        runs a statement in this process (DuckDB); `pulsarctl.spark.jobs.sql` runs the same on Spark
functions    what the local engine may run
translation  Spark SQL for DuckDB
printed      results as JSON values and as text
result_page  results as one HTML page

The language is Spark SQL; sqlglot translates it for DuckDB. Each reference to a topic becomes a table of its own, so
bounds of one reference never apply to another. The package may import `tables` and what is below, but not pyspark, and
no command.
"""
