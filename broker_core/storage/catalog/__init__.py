"""metadata.sqlite and its second copy, catalog.log."""
