"""One type for all versions of a schema."""

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa

from pulsarctl.tables.typed.evolution import renamed, unite

V = [("t", version) for version in range(4)]
ID = ("id", pa.int32())


def test_fields_of_all_versions_are_united_by_name() -> None:
    found = unite([(V[0], pa.struct([ID, ("old", pa.string())])), (V[1], pa.struct([ID, ("new", pa.string())]))])
    assert found.arrow == pa.struct([ID, ("old", pa.string()), ("new", pa.string())])
    assert (found.renames, found.misfits) == ({}, frozenset())


@pytest.mark.parametrize(
    ("old", "new"), [(pa.int32(), pa.int64()), (pa.int64(), pa.int32()), (pa.float32(), pa.float64())]
)
def test_a_wider_type_holds_both(old: pa.DataType, new: pa.DataType) -> None:
    wide = max(old, new, key=lambda kind: kind.bit_width)
    assert unite([(V[0], pa.struct([("n", old)])), (V[1], pa.struct([("n", new)]))]).arrow == pa.struct([("n", wide)])


def test_a_field_that_changed_its_type_keeps_the_older_values_beside_it() -> None:
    found = unite([(V[0], pa.struct([("n", pa.int32())])), (V[1], pa.struct([("n", pa.string())]))])
    assert found.arrow == pa.struct([("n", pa.string()), ("n__v0", pa.int32())])
    assert renamed({"n": 7}, found.renames[V[0]]) == {"n__v0": 7}
    assert V[1] not in found.renames


def test_nested_records_are_united_too() -> None:
    inner = [pa.struct([("n", pa.int32())]), pa.struct([("n", pa.string()), ("m", pa.int32())])]
    found = unite([(V[version], pa.struct([("items", pa.list_(kind))])) for version, kind in enumerate(inner)])
    united = pa.struct([("n", pa.string()), ("n__v0", pa.int32()), ("m", pa.int32())])
    assert found.arrow == pa.struct([("items", pa.list_(united))])
    assert renamed({"items": [{"n": 1}]}, found.renames[V[0]]) == {"items": [{"n__v0": 1}]}


def test_a_version_that_is_no_record_does_not_fit() -> None:
    assert unite([(V[0], pa.string()), (V[1], pa.struct([ID]))]).misfits == {V[0]}


def test_a_version_between_two_that_fit_does_not_hide_the_older_one() -> None:
    found = unite([(V[0], pa.struct([ID])), (V[1], pa.string()), (V[2], pa.struct([ID]))])
    assert (found.arrow, found.misfits) == (pa.struct([ID]), frozenset({V[1]}))
    types = [pa.int32(), pa.string(), pa.int64()]
    found = unite([(V[version], pa.struct([("n", kind)])) for version, kind in enumerate(types)])
    assert found.arrow == pa.struct([("n", pa.int64()), ("n__v1", pa.string())])


def test_records_in_maps_are_united_too() -> None:
    inner = [pa.struct([("n", pa.int32())]), pa.struct([("n", pa.string())])]
    found = unite([(V[at], pa.struct([("m", pa.map_(pa.string(), kind))])) for at, kind in enumerate(inner)])
    united = pa.struct([("n", pa.string()), ("n__v0", pa.int32())])
    assert found.arrow == pa.struct([("m", pa.map_(pa.string(), united))])
    assert renamed({"m": [("k", {"n": 1})]}, found.renames[V[0]]) == {"m": [("k", {"n__v0": 1})]}


def test_names_that_differ_only_in_case_are_told_apart() -> None:
    """DuckDB would show the first one for both, and Spark calls them ambiguous."""
    found = unite([(V[0], pa.struct([ID])), (V[1], pa.struct([("ID", pa.string())]))])
    assert found.arrow == pa.struct([ID, ("ID__2", pa.string())])
    assert renamed({"ID": "a"}, found.renames[V[1]]) == {"ID__2": "a"}
    assert V[0] not in found.renames


def test_the_name_of_an_older_type_has_the_version_of_its_own_topic() -> None:
    versions = [("a", 5), ("a", 7), ("b", 5)]
    types = [pa.int32(), pa.string(), pa.bool_()]
    found = unite([(at, pa.struct([("n", kind)])) for at, kind in zip(versions, types, strict=True)])
    assert found.arrow == pa.struct([("n", pa.bool_()), ("n__v7", pa.string()), ("n__v5", pa.int32())])
    types = [pa.int32(), pa.string(), pa.bool_(), pa.date32()]
    versions = [("a", 5), ("b", 5), ("c", 5), ("d", 5)]
    found = unite([(at, pa.struct([("n", kind)])) for at, kind in zip(versions, types, strict=True)])
    assert [part.name for part in found.arrow] == ["n", "n__v5", "n__v5__2", "n__v5__3"]


def test_in_a_table_that_is_kept_later_versions_change_no_column() -> None:
    types = [pa.int32(), pa.string(), pa.bool_(), pa.int64()]
    versions = [(V[at], pa.struct([("n", kind)])) for at, kind in enumerate(types)]
    before = unite(versions[:2], oldest_first=True)
    assert before.arrow == pa.struct([("n", pa.int32()), ("n__v1", pa.string())])
    after = unite(versions, oldest_first=True)
    assert after.arrow == pa.struct([("n", pa.int64()), ("n__v1", pa.string()), ("n__v2", pa.bool_())])
    assert (after.renames[V[1]], set(after.renames)) == (before.renames[V[1]], {V[1], V[2]})
    assert unite([(V[0], pa.string()), (V[1], pa.struct([ID]))], oldest_first=True).misfits == {V[1]}
