"""Verbs that are one request of the admin REST API, as rows of tables: `request` has the row, `installing` the verb.

A command module with such verbs holds its own rows. Those of the large nouns are here, in `of_namespaces`, `of_topics`,
and `of_functions`.
"""
