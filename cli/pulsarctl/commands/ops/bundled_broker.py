"""Whether the broker is pulsarctl's own, which reports and takes more than Apache Pulsar does."""

from pulsarctl.commands.ops.on_spark import access
from pulsarctl.shell.call import Call


def is_bundled(call: Call) -> bool:
    """Asks over the binary protocol. Raises what connecting raises."""
    lookup = access(call).lookup()
    try:
        return lookup.server_version().startswith("pulsarctl")
    finally:
        lookup.close()
