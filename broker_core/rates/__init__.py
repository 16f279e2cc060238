"""Counting: rates per second, traffic, and long work in slices.

Imports only the clock; every package above the storage may import it.
"""
