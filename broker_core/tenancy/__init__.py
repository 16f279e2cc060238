"""Tenants, namespaces, bundles, and which policies they give their topics.

Stored first, then visible; knows no loaded topic.
"""
