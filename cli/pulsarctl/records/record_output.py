"""Which bytes `consume` and `read` print for a record, from their output options."""

from collections.abc import Callable
from typing import Any

from pulsarctl.errors import UsageProblem
from pulsarctl.output.render import Output
from pulsarctl.records.record import Record

Show = Callable[[Record], bytes]


def record_output(
    output: Output,
    template: str | None,
    hidden: frozenset[str],
    *,
    metadata: bool = False,
    hexadecimal: bool = False,
    hide_content: bool = False,
) -> Show | None:
    """The function that makes the bytes of a record; None when only a count is wanted.

    `hidden` are the fields that the source of the records cannot know. Raises `UsageProblem`.
    """
    if template is not None:
        from pulsarctl.records.template import compile_template

        return compile_template(template, hidden)
    if hide_content:
        return None
    if output in (Output.JSON, Output.JSONL):
        from pulsarctl.records.record_json import client_line, raw_line

        line = client_line if hidden else raw_line
        return lambda record: line(record) + b"\n"
    if output not in (Output.AUTO, Output.TEXT):
        raise UsageProblem(f"messages cannot be printed as {output}", hint="use -o text, -o jsonl or -F TEMPLATE")
    from pulsarctl.records.record_text import hex_block, text_block, text_block_with_metadata

    if hexadecimal:
        return hex_block
    return text_block_with_metadata if metadata else text_block


def decoded(show: Show | None, schema_type: str, lookup: Callable[[str, int], dict[str, Any]]) -> Show | None:
    """The same output of values decoded by their schema, unless `schema_type` is bytes. Raises `UsageProblem`.

    `lookup` gets a topic's schema of one version.
    """
    kind = schema_type.lower()
    if kind not in ("bytes", "auto_consume", "auto"):
        raise UsageProblem(f"there is no schema type '{schema_type}'", hint="bytes or auto_consume")
    if show is None or kind == "bytes":
        return show
    from pulsarctl.records.schema_decoding import SchemaDecoder

    decode, plain = SchemaDecoder(lookup), show
    return lambda record: plain(decode(record))
