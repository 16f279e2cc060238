"""Hostile input against a live broker next to a well-behaved client; `make abuse`."""
