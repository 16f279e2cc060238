"""The typed client of a broker's admin REST API: one attribute for each noun, one method for each endpoint.

Only `commands`, `verbs`, `shell`, `schemas`, and the Spark source import it.
"""
