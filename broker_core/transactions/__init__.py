"""The transaction coordinator: which transactions are open, how long, and how each ends.

Topics ask it whether a transaction may still write. It knows them only as participants, which are told the outcome.
"""
