"""Publishing: producers, their names and access modes, sequence IDs, and the checks of each message.

Knows topics only by the protocols that it declares; `topic` and the packages above it import it.
"""
