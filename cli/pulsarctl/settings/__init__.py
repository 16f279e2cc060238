"""What a command runs with, and where each value came from: options, environment, contexts, client.conf.

Below everything that talks to a broker.
"""
