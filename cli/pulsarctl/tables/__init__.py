"""Topics as Arrow tables, without Spark: what to read, how to read it, and how bytes become typed columns.

Spark, the local engine, SQL, and export read topics through this package and nothing else.

    table = TopicTable.open(TableOptions.parse({"topic": "orders", "columns": "key,value"}))
    for part in table.plan():               # on the driver: asks the admin API for ledgers and cursors
        for batch in table.read(part):      # in a task: pyarrow.RecordBatch, all with the schema `table.schema`
            ...

`TopicTable` (`topic_table`) and `LedgerRange` (`ledger_ranges`) are small and can be pickled, so a plan can travel to
other processes. The parts of a plan do not overlap, and together they cover the bounds. `TableOptions` (`options`) is
the one border that validates options. `access` is the one place that knows addresses and credentials.
`TopicTable.open` asks for schemas; `TopicTable(options)` does not, and leaves values as bytes.

It may import `raw`, `admin`, and the classes below them. It imports neither pyspark nor a command.
"""
