"""What an export or an import did, or would do, as a table."""

from typing import TYPE_CHECKING, Any

from pulsarctl.output.render import Table
from pulsarctl.shell.call import Call
from pulsarctl.values.quantities import human_size

if TYPE_CHECKING:
    from pulsarctl.tables.data_loss import LeftOut


def summary(heading: str, value: dict[str, Any]) -> Table:
    rows = [(name, human_size(found) if name == "bytes" else found) for name, found in value.items()]
    return Table((heading, "VALUE"), rows)


def tell_left_out(call: Call, left_out: "LeftOut") -> dict[str, int]:
    """Warns of each gap, and returns the counts for the summary."""
    for gone in left_out.gone:
        call.notice(f"warning: {gone}")
    _tell_incomplete(call, left_out.incomplete)
    return {"incomplete": left_out.incomplete, "gaps": len(left_out.gone)}


def _tell_incomplete(call: Call, messages: int) -> None:
    if messages:
        noun = "chunked message is" if messages == 1 else "chunked messages are"
        call.notice(f"warning: {messages} {noun} left out: first chunks are gone, or before the start")


def tell_undecoded(call: Call, values: int) -> None:
    if values:
        noun = "value cannot be decoded and is" if values == 1 else "values cannot be decoded and are"
        call.notice(f"warning: {values} {noun} in the column raw_value; decode_error says why")
