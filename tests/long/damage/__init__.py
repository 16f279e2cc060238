"""Damage to every kind of file in a data directory: no wrong data is served, and every loss is reported."""
