"""The reports of a broker, a client, and a topic, requested once and judged by the rules of `diagnosis`."""
