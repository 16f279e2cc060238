"""Topics as Apache Iceberg tables: files with a row for each message, and the catalog that lists them.

It imports `tables` for the rows and nothing of Spark. pyiceberg is optional, and is imported when a table is opened.
"""
