"""Record templates, for `-F` of `consume` and `read`.

    %t topic   %k key   %v value (also %s)   %p partition   %o message ID   %d publish time   %D event time, in ms
    %T %K %V %S  the length of topic, key, and value; -1 for no key and for a tombstone     %H number of properties
    %h{...}  the text in braces for each property, with %k and %v     %i records so far, counted from 1
    %e schema version   %x producer name   %y sequence ID   %o{ledger|entry|batch|index}
    %a{compression|producer|sequence|redelivery|replicated-from|ordering-key|deliver-at|encryption}
    %% %{ %}  literals     \\t \\n \\r \\\\ \\xNN

Modifiers in braces. Numbers: ascii, hex64 to hex4, big64 to big8, little64 to little8, byte, bool; times also iso and
strftime[...]. Bytes: hex, base64, base64raw, unpack[...]. A value is written unchanged.
The escapes are those of `rpk topic consume`, with Pulsar's terms where Kafka's make no sense.
"""

from collections.abc import Callable

from pulsarctl.errors import UsageProblem
from pulsarctl.records.record import Record, message_id
from pulsarctl.records.template_formats import bytes_format, number_format, time_format
from pulsarctl.records.template_parts import Placeholder, parse

Template = Callable[[Record], bytes]

_BYTES: dict[str, Callable[[Record], bytes]] = {
    "t": lambda record: record.topic.encode(),
    "k": lambda record: record.key or b"",
    "v": lambda record: record.value or b"",
    "s": lambda record: record.value or b"",
    "e": lambda record: record.schema_version.hex().encode(),
    "x": lambda record: record.producer_name.encode(),
    "o": lambda record: message_id(record).encode(),
    "a:producer": lambda record: record.producer_name.encode(),
    "a:compression": lambda record: record.compression.encode(),
    "a:replicated-from": lambda record: (record.replicated_from or "").encode(),
    "a:ordering-key": lambda record: record.ordering_key or b"",
    "a:encryption": lambda record: ",".join(record.encryption_keys).encode(),
}
_NUMBERS: dict[str, Callable[[Record], int]] = {
    "T": lambda record: len(record.topic.encode()),
    "K": lambda record: _length(record.key),
    "V": lambda record: _length(record.value),
    "S": lambda record: _length(record.value),
    "H": lambda record: len(record.properties),
    "p": lambda record: record.partition,
    "y": lambda record: _known(record.sequence_id),
    "o:ledger": lambda record: record.ledger_id,
    "o:entry": lambda record: record.entry_id,
    "o:batch": lambda record: record.batch_index,
    "o:index": lambda record: _known(record.index),
    "a:sequence": lambda record: _known(record.sequence_id),
    "a:redelivery": lambda record: record.redelivery_count,
}
_TIMES: dict[str, Callable[[Record], int]] = {
    "d": lambda record: record.publish_time_ms,
    "D": lambda record: record.event_time_ms,
    "a:deliver-at": lambda record: record.deliver_at_ms or 0,
}
_FIELD = {  # fields that a source may hide, by placeholder
    "y": "sequence_id",
    "a:sequence": "sequence_id",
    "o:index": "index",
    "a:compression": "compression",
    "a:replicated-from": "replicated_from",
    "a:deliver-at": "deliver_at_ms",
    "a:encryption": "encryption_keys",
}


def compile_template(text: str, hidden: frozenset[str]) -> Template:
    """The function that renders a record. `hidden` are the fields that the source of the records does not know.

    Raises `UsageProblem` naming the position of an error or the hidden field.
    """
    parts = parse(text)
    pieces = [_literal(part) if isinstance(part, bytes) else _compile(part, hidden) for part in parts]
    if len(parts) == 2 and isinstance(parts[1], bytes):  # a fast path for `%v\n` and the like
        field, end = pieces[0], parts[1]
        return lambda record: field(record) + end
    return lambda record: b"".join([piece(record) for piece in pieces])


def _literal(data: bytes) -> Template:
    return lambda record: data


def _compile(placeholder: Placeholder, hidden: frozenset[str]) -> Template:
    if placeholder.escape == "h":
        return _properties(placeholder)
    if placeholder.escape == "i":
        return _counter(placeholder)
    name, modifier = _name_of(placeholder)
    if _FIELD.get(name) in hidden:
        raise UsageProblem(
            f"cannot print %{placeholder.escape}"
            f"{'{' + placeholder.modifier + '}' if placeholder.modifier else ''}: the client hides this field",
            hint="use 'pulsarctl read'",
        )
    if name in _BYTES:
        return _shown(_BYTES[name], bytes_format(modifier), placeholder)
    if name in _TIMES:
        return _shown(_TIMES[name], time_format(modifier), placeholder)
    if name in _NUMBERS:
        return _shown(_NUMBERS[name], number_format(modifier), placeholder)
    raise placeholder.problem(f"unknown escape %{placeholder.escape}" + (f"{{{modifier}}}" if modifier else ""))


def _name_of(placeholder: Placeholder) -> tuple[str, str | None]:
    """The name and the modifier. In `%a{producer}` and `%o{ledger}`, the braces are part of the name."""
    part = f"{placeholder.escape}:{placeholder.modifier}"
    if part in _BYTES or part in _NUMBERS or part in _TIMES:
        return part, None
    return placeholder.escape, placeholder.modifier


def _shown(get: Callable[[Record], object], show: Callable[..., bytes] | None, placeholder: Placeholder) -> Template:
    if show is None:
        raise placeholder.problem(f"cannot format %{placeholder.escape} as '{placeholder.modifier}'")
    if show is bytes:
        return get  # type: ignore[return-value]  # the field is already bytes
    return lambda record: show(get(record))


def _properties(placeholder: Placeholder) -> Template:
    if placeholder.modifier is None:
        raise placeholder.problem("%h requires a template for each property, such as %h{%k=%v;}")
    pieces: list[Callable[[bytes, bytes], bytes]] = []
    for part in parse(placeholder.modifier):
        pieces.append(_constant(part) if isinstance(part, bytes) else _half(part))

    def render(record: Record) -> bytes:
        pairs = ((name.encode(), value.encode()) for name, value in record.properties.items())
        return b"".join(piece(name, value) for name, value in pairs for piece in pieces)

    return render


def _constant(data: bytes) -> Callable[[bytes, bytes], bytes]:
    return lambda name, value: data


def _half(placeholder: Placeholder) -> Callable[[bytes, bytes], bytes]:
    """The name or the value of a property."""
    if placeholder.escape in "KV":
        count = number_format(placeholder.modifier)
        if count is not None:
            by_name = placeholder.escape == "K"
            return lambda name, value: count(len(name if by_name else value))
    show = bytes_format(placeholder.modifier)
    if placeholder.escape not in "kv" or show is None:
        raise placeholder.problem("%h{...} supports only %k, %v, %K, and %V")
    if placeholder.escape == "k":
        return lambda name, value: show(name)
    return lambda name, value: show(value)


def _counter(placeholder: Placeholder) -> Template:
    """Counts its own calls, so each record must be rendered once."""
    show = number_format(placeholder.modifier)
    if show is None:
        raise placeholder.problem(f"cannot format %i as '{placeholder.modifier}'")
    printed = 0

    def render(record: Record) -> bytes:
        nonlocal printed
        printed += 1
        return show(printed)

    return render


def _length(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _known(number: int | None) -> int:
    return -1 if number is None else number
