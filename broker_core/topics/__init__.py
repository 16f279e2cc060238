"""Topics as a whole: which there are, how they come, age and go."""
