"""The typed client of a broker's admin REST API: one attribute for each noun, one method for each endpoint.

Only what stands above it in `.importlinter` imports it.
"""
