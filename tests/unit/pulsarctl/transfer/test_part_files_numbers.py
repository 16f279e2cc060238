"""Names of files whose numbers have more digits than most."""

import pytest

pytest.importorskip("pyarrow")

from pulsarctl.tables.data_loss import LeftOut
from pulsarctl.transfer.exporting import Written, in_order
from pulsarctl.transfer.manifest import foreign_files
from pulsarctl.transfer.part_files import FileFacts


def facts(place: int) -> FileFacts:
    return FileFacts(f"day=2026-01-01/part-0000-000000-{place:04}.parquet", 1, 1)


def test_files_of_one_part_keep_their_order_beyond_ten_thousand() -> None:
    ordered = [facts(place) for place in range(10_002)]
    assert in_order([Written(ordered[::-1], LeftOut())]) == ordered


def test_files_of_run_ten_thousand_are_part_of_an_export() -> None:
    assert foreign_files(["part-10000-000000-0000.parquet", "part-0000-000000-10000.csv"]) == []
