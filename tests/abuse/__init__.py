"""Hostile input against a live broker while a well-behaved client works beside it; `make abuse`."""
