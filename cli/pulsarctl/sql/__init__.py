"""Topics as tables of SQL: `ops sql`, `ops shell`.

engine       DuckDB in this process, or Spark
dialects     the language of each engine
statement    text -> one checked SELECT for its engine, and its references to topics
fixed_time   one time for the plan and the engine
conditions   what WHERE says about a reference: publish times, ledgers, entries, partitions
constants    the values that conditions compare with
planning     a reference -> a table and its parts, all as of one moment
database     DuckDB in memory, for `constants` and `local`
local        runs a statement in this process (DuckDB); `pulsarctl.spark.jobs.sql` runs the same on Spark
printed      results as JSON values and as text
result_page  results as one HTML page

A query is in the language of its engine, and nothing translates it; sqlglot reads it to find topics and bounds. Each
reference to a topic becomes a table of its own, so bounds of one reference never apply to another. The package may
import `tables` and what is below, but not pyspark, and no command.
"""
