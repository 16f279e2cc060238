"""Schemas: definitions, compatibility, the registry of versions, and what a topic says to a new schema.

Knows names and policies, but no topic; `topic` and what is above it import it.
"""
