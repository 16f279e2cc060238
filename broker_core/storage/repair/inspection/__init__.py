"""What stands in the files of a data directory, as readable lines, and what is wrong with it.

Reads only, and needs no lock, so it also works next to a running broker. Nothing in the broker imports it: it serves
`pulsarctl storage` and tests.
"""
