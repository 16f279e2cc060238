"""The way out: consumers, what is pending at them, and the policies that decide who gets which entry.

Knows topics by `DispatchContext` and clients by `Client`; `topic` and what is above it import it.
"""
