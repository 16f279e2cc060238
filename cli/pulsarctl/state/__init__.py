"""The declared state of a cluster: files, what a broker has, the difference, and how to remove it.

    documents -> layers    files -> one document; `${NAME}`, overlays, and the lines of mistakes
    grammar, settings      what a document may say, made from the tables of policies; `editors` is their JSON Schema
    scalable               scalable topics, in files, on a broker, and as requests
    live                   what a broker has, in the form of a document
    scope                  what a document describes completely, and what is never deleted
    plan -> plan_text      the changes, and how they are shown; `members` finds what changes inside a document
    applying, operations   the changes as requests: ordered, in parallel, with the failures by name
    exporting              what a broker has, as a document

Only the commands `export`, `diff`, and `apply` import it. It imports `policies` for the tables, `bulk`, and what
is below them.
"""
