"""Schemas: definitions, compatibility, the registry of versions, and how a topic admits a new schema.

Imports names and policies, but no topic; `topic` and the packages above it import it.
"""
