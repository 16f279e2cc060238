"""How much and how fast: publish, dispatch, and subscribe rates, and how many clients a topic takes.

`publishing`, `topic`, and what is above them import it.
"""
