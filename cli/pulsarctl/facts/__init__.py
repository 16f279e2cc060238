"""What a broker, a client, and a topic report, asked for once and judged by the rules of `diagnosis`."""
