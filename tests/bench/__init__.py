"""Speed, memory and start-up of the broker, measured through clients we did not write; `make bench`."""
