"""The policies of namespaces and topics: each declared once, with its values, checks, and JSON form.

Imports the configuration, which gives the defaults, but no code that policies apply to.
"""
