"""What `make abuse` leaves out, each with its reason. Patterns match the names of inputs, as in `fnmatch`."""

# Known failures that are not fixed yet.
KNOWN: dict[str, str] = {
    "POST /admin/v2/brokers/shutdown *": "ends the broker, as it should",
}

# Reasons of 500 answers that Pulsar gives too, and that its tools depend on.
EXPECTED_500 = (
    "Incompatible",  # POST .../compatibility with an incompatible schema
    "Invalid schema",
    "the broker do not have ",  # lookup for a listener that is not configured
)
