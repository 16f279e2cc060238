"""What an export or an import did, or would do, as a table."""

from typing import Any

from pulsarctl.output.render import Table
from pulsarctl.values.quantities import human_size


def summary(heading: str, value: dict[str, Any]) -> Table:
    rows = [(name, human_size(found) if name == "bytes" else found) for name, found in value.items()]
    return Table((heading, "VALUE"), rows)
