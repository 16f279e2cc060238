"""The way in: producers, their names and access modes, sequence ids, and what is checked of each message.

Knows topics by the protocols it declares; `topic` and what is above it import it.
"""
