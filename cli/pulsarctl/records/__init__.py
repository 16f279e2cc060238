"""Messages as they are printed: records, formats, templates, and decoding by schema.

Imports neither the client nor the raw reader.
"""
