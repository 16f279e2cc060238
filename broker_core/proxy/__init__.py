"""A gateway in front of brokers: answers lookups, splices connections to brokers, and forwards requests over HTTP.

It keeps nothing on disk and knows no topics, so any number of proxies can run side by side. Only `pulsarctl proxy`
imports it. docs/how-to/proxy.md is its page for users.
"""
