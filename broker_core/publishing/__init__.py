"""What a producer must be and what its messages must be: access, names, sequences, checks."""
