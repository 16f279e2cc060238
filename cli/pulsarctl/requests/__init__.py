"""Verbs that are one request of the admin REST API, as rows of tables: `request` has the row, `installing` the verb.

A command module with such verbs holds its own rows, in `request_table` if there are many. `functions` and `connectors`
have those that three nouns share.
"""
