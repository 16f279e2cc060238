"""Values of results as JSON and CSV have them."""

from decimal import Decimal

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa

from pulsarctl.sql.printed import csv_text, json_rows

KIND = pa.decimal128(38, 2)


@pytest.mark.parametrize(
    ("value", "shown"),
    [("0.10", 0.1), ("5.00", 5), ("-1234.56", -1234.56), ("12345678901234567890.25", "12345678901234567890.25")],
)
def test_a_decimal_keeps_its_digits_in_json(value: str, shown: float | str) -> None:
    nested = pa.array([{"d": Decimal(value)}], pa.struct([("d", KIND)]))
    table = pa.table({"d": pa.array([Decimal(value)], KIND), "s": nested})
    assert list(json_rows(table)) == [{"d": shown, "s": {"d": shown}}]


def test_a_decimal_in_a_struct_keeps_its_digits_in_csv() -> None:
    nested = pa.array([{"d": Decimal("12345678901234567890.25")}], pa.struct([("d", KIND)]))
    assert "12345678901234567890.25" in "".join(csv_text(pa.table({"s": nested})))
