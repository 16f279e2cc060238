"""Counting what passes: rates per second, traffic, and long work in turns.

Imports the clock only; every package above the storage may import it.
"""
