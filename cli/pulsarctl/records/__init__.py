"""A message as it is printed: record, formats, templates, decoding by its schema.

Knows neither client nor broker.
"""
