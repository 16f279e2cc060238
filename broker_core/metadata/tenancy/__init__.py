"""Tenants, namespaces, bundles, and the policies that apply to their topics.

A change is stored first and visible afterwards. Knows no loaded topic.
"""
