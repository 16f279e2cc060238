"""The official client, and nothing else that knows which library that is: producers, consumers, their settings.

`produce`, `consume`, and their commands import it.
"""
