"""The typed client of a broker's admin REST API: one attribute for each noun, one method for each endpoint.

Only `commands`, `verbs`, `shell`, and what a reader needs to plan import it.
"""
