"""Schemas on the command line: definitions in files, values encoded by them.

Below records, which decode by them.
"""
