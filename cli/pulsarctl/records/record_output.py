"""The output of `consume` and `read` for a record, by their output options."""

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
    """The function that returns the output of a record, or None to print only a count.

    `hidden` are the fields that the source of the records does not know. Raises `UsageProblem`.
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
        raise UsageProblem(f"cannot print messages as {output}", hint="use -o text, -o jsonl, or -F TEMPLATE")
    from pulsarctl.records.record_text import hex_block, text_block, text_block_with_metadata

    if hexadecimal:
        return hex_block
    return text_block_with_metadata if metadata else text_block


def decoded(show: Show | None, schema_type: str, lookup: Callable[[str, int], dict[str, Any]]) -> Show | None:
    """The same output with values decoded by their schema, unless `schema_type` is bytes. Raises `UsageProblem`.

    `lookup` fetches one version of a topic's schema.
    """
    kind = schema_type.lower()
    if kind not in ("bytes", "auto_consume", "auto"):
        raise UsageProblem(f"unknown schema type '{schema_type}'", hint="use bytes or auto_consume")
    if show is None or kind == "bytes":
        return show
    from pulsarctl.records.schema_decoding import SchemaDecoder

    decode, plain = SchemaDecoder(lookup), show
    return lambda record: plain(decode(record))
