"""kill -9 under load, again and again: nothing acknowledged is lost, nothing comes out of order; `make soak`."""
