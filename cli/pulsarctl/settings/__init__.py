"""The settings of a command and their sources: options, environment, contexts, and client.conf.

Everything that talks to a broker may import it.
"""
