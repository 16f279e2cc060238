"""Rules that tell what is wrong from what a broker reports: documents in, findings out.

`facts.topic` gathers the documents. Imports only `values`, errors, and the escaping of `output`.
"""
