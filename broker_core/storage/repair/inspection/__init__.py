"""Shows the content of a data directory's files as readable lines, and what is wrong with it.

It only reads, and needs no lock, so it also works next to a running broker. Nothing in the broker imports it: it serves
`pulsarctl storage` and tests.
"""
