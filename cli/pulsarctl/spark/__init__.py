"""The data pipeline on Spark: a data source for topics, and jobs that read through it.

Needs the extra `spark`, and Java 17 or newer (or the extra `java`); nothing outside of this package does.
"""
