"""One type for all versions of a schema."""

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa

from pulsarctl.tables.typed.evolution import renamed, unite

ID = ("id", pa.int32())


def test_fields_of_all_versions_are_united_by_name() -> None:
    found = unite([(0, pa.struct([ID, ("old", pa.string())])), (1, pa.struct([ID, ("new", pa.string())]))])
    assert found.arrow == pa.struct([ID, ("old", pa.string()), ("new", pa.string())])
    assert (found.renames, found.misfits) == ({}, frozenset())


@pytest.mark.parametrize(
    ("old", "new"), [(pa.int32(), pa.int64()), (pa.int64(), pa.int32()), (pa.float32(), pa.float64())]
)
def test_a_wider_type_holds_both(old: pa.DataType, new: pa.DataType) -> None:
    wide = max(old, new, key=lambda kind: kind.bit_width)
    assert unite([(0, pa.struct([("n", old)])), (1, pa.struct([("n", new)]))]).arrow == pa.struct([("n", wide)])


def test_a_field_that_changed_its_type_keeps_the_older_values_beside_it() -> None:
    found = unite([(0, pa.struct([("n", pa.int32())])), (1, pa.struct([("n", pa.string())]))])
    assert found.arrow == pa.struct([("n", pa.string()), ("n__v0", pa.int32())])
    assert renamed({"n": 7}, found.renames[0]) == {"n__v0": 7}
    assert 1 not in found.renames


def test_nested_records_are_united_too() -> None:
    inner = [pa.struct([("n", pa.int32())]), pa.struct([("n", pa.string()), ("m", pa.int32())])]
    found = unite([(version, pa.struct([("items", pa.list_(kind))])) for version, kind in enumerate(inner)])
    united = pa.struct([("n", pa.string()), ("n__v0", pa.int32()), ("m", pa.int32())])
    assert found.arrow == pa.struct([("items", pa.list_(united))])
    assert renamed({"items": [{"n": 1}]}, found.renames[0]) == {"items": [{"n__v0": 1}]}


def test_a_version_that_is_no_record_does_not_fit() -> None:
    assert unite([(0, pa.string()), (1, pa.struct([ID]))]).misfits == {0}
