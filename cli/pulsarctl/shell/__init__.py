"""The grammar of the command line: nouns and verbs, options, help, completion, exit codes.

Commands and what they share import it.
"""
