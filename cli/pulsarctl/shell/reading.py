"""The shared options of `consume`, `read`, and `tail`: the range to read, and the output of each message."""

from pulsarctl.records.record_output import Show, decoded, record_output
from pulsarctl.shell.call import Call
from pulsarctl.values import clock
from pulsarctl.values.positions import AtTime, Latest, Position, parse_position


def position_of(call: Call, label: str, text: str) -> Position:
    """Raises `UsageProblem`. Echoes a time, with `label`."""
    position = parse_position(text, clock.now_ms())
    if isinstance(position, AtTime):
        call.notice_time(label, position.publish_time_ms)
    return position


def end_of(call: Call, to: str | None, *, exit_on_end: bool) -> Position | None:
    """The last position to read, or None for no end. Raises `UsageProblem`."""
    if exit_on_end:
        return Latest()
    return None if to is None else position_of(call, "to", to)


def message_output(
    call: Call,
    template: str | None,
    schema_type: str,
    hidden: frozenset[str],
    *,
    metadata: bool,
    hexadecimal: bool,
    hide_content: bool,
) -> Show | None:
    """The output of a message with its decoded value, as `record_output` describes it. Raises `UsageProblem`."""
    details = {"metadata": metadata, "hexadecimal": hexadecimal, "hide_content": hide_content}
    show = record_output(call.output, template, hidden, **details)
    if hexadecimal:
        return show
    return decoded(show, schema_type, lambda name, version: call.admin.schemas.get(name, version))
