"""The policies of namespaces and topics: each declared once, with its values, checks, and JSON form.

Knows the configuration, which gives the defaults, and nothing that policies apply to.
"""
