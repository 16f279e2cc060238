"""The grammar of the command line: nouns and verbs, options, help, completion, exit codes.

`commands`, `verbs`, and `main` import it.
"""
