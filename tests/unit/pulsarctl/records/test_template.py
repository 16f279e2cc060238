"""Record templates: escapes, modifiers, and errors that name their place."""

import pytest

from pulsarctl.errors import UsageProblem
from pulsarctl.records.record import HIDDEN_FROM_CLIENT
from pulsarctl.records.template import compile_template
from tests.support.sample_record import SampleRecord


def render(template: str, **fields: object) -> bytes:
    return compile_template(template, frozenset())(SampleRecord(**fields))  # type: ignore[arg-type]  # by name


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("%t", b"persistent://public/default/orders-partition-3"),
        ("%T", b"46"),
        ("%k=%v\\n", b"k=hello\n"),
        ("%K %V %S", b"1 5 5"),
        ("%s", b"hello"),
        ("%p", b"3"),
        ("%o", b"12:34:3:5"),
        ("%o{ledger}/%o{entry}/%o{batch}/%o{index}", b"12/34/5/99"),
        ("%d", b"1700000000123"),
        ("%d{iso}", b"2023-11-14T22:13:20.123Z"),
        ("%d{strftime[%H:%M]}", b"22:13"),
        ("%D", b"0"),
        ("%D{iso} %D{strftime[%Y]}", b"1970-01-01T00:00:00.000Z 1970"),
        ("%H", b"2"),
        ("%h{%k=%v;}", b"b=2;a=1;"),
        ("%h{%K%k{hex} }", b"162 161 "),
        ("%x %y", b"standalone-0-1 7"),
        ("%a{compression} %a{redelivery} %a{ordering-key}", b"lz4 2 o"),
        ("%v{hex}", b"68656c6c6f"),
        ("%v{base64} %v{base64raw}", b"aGVsbG8= aGVsbG8"),
        ("%V{big32}", b"\x00\x00\x00\x05"),
        ("%V{little16}", b"\x05\x00"),
        ("%V{hex8} %V{hex64}", b"05 0000000000000005"),
        ("%V{byte}%V{bool}", b"\x05true"),
        ("%% %{ %}", b"% { }"),
        ("\\t\\r\\\\\\x41\\xff", b"\t\r\\A\xff"),
        ("ä%v", "ähello".encode()),
    ],
)
def test_a_template_is_expanded(template: str, expected: bytes) -> None:
    assert render(template) == expected


def test_a_value_is_written_unchanged() -> None:
    assert render("%v\n", value=b"\xff\x00\n") == b"\xff\x00\n\n"


def test_a_tombstone_is_empty_and_its_length_is_minus_one() -> None:
    assert render("[%v]%V", value=None) == b"[]-1"


def test_a_missing_key_is_empty_and_its_length_is_minus_one() -> None:
    assert render("[%k]%K", key=None) == b"[]-1"


def test_records_are_counted_from_one() -> None:
    show = compile_template("%i,", frozenset())
    assert show(SampleRecord()) + show(SampleRecord()) == b"1,2,"


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (">I$", b"16909060"),
        ("<I", b"67305985"),
        ("bxB", b"1 2"),
        ("hs", b"258\x03\x04"),
        ("H$", b"258(2 bytes left)"),
        ("Q", b"(4 bytes missing)"),
    ],
)
def test_binary_values_are_unpacked(pattern: str, expected: bytes) -> None:
    assert render(f"%v{{unpack[{pattern}]}}", value=b"\x01\x02\x03\x04") == expected


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("ab%", "character 3: a single % at the end"),
        ("a%Q", "character 2: unknown escape %Q"),
        ("%v{hex", "character 3: this { is not closed"),
        ("%v{big32}", "character 1: cannot format %v as 'big32'"),
        ("%h", "character 1: %h requires a template for each property"),
        ("%h{%t}", "character 1: %h{...} supports only %k, %v, %K, and %V"),
        ("\\q", "character 1: '\\q' is not one of"),
        ("%a{colour}", "unknown escape %a{colour}"),
    ],
)
def test_an_error_names_its_place_in_the_template(template: str, problem: str) -> None:
    with pytest.raises(UsageProblem) as raised:
        compile_template(template, frozenset())
    assert problem in str(raised.value)


def test_a_field_that_the_official_client_hides_is_refused() -> None:
    with pytest.raises(UsageProblem, match=r"cannot print %a\{compression\}: the client hides"):
        compile_template("%a{compression}", HIDDEN_FROM_CLIENT)


@pytest.mark.parametrize("time_ms", [1_700_000_000_000_000, -(1 << 63), (1 << 63) - 1])
def test_a_time_without_a_date_is_its_number(time_ms: int) -> None:
    assert render("%D{iso} %D{strftime[%Y]}", event_time_ms=time_ms) == b"%d %d" % (time_ms, time_ms)
