"""Damage to every kind of file of a data directory: nothing wrong is served, and nothing is lost in silence."""
