"""Limits and rates: publish, dispatch, and subscribe rates, and the number of clients per topic.

`publishing`, `topic`, and the packages above them import it.
"""
