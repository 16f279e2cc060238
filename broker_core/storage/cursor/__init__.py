"""The acknowledgments of a subscription, and their way to the journal."""
