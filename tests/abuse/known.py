"""What `make abuse` leaves out, each with its reason. Patterns match the names of inputs, as in `fnmatch`."""

# Failures that are known and not mended yet.
KNOWN: dict[str, str] = {
    "PING 10,000 in one write": "what arrives in one read is handled in one turn of the loop, here 40 to 80 ms",
}

# Reasons of answers that are 500 in Pulsar too, and that its tools tell apart by just that.
EXPECTED_500 = (
    "Managed ledger of ",  # internal-info of a topic that is not there
    "Incompatible",  # whether a schema would be taken, asked by POST .../compatibility
    "Invalid schema",
)
