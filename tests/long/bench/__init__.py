"""Speed, memory, and start time of the broker, measured with official clients; `make bench`."""
