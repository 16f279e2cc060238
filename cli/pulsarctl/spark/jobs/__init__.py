"""Jobs that run on Spark; the commands of `ops` start them."""
