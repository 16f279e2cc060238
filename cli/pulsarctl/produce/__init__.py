"""One run of `produce`: the messages to send, their order, and the progress.

Only commands import it.
"""
