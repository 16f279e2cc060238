"""Row groups of a tier file, read one by one and several at once."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from broker_core.offload.tier_file_writer import GROUP_BYTES, TierFileWriter
from broker_core.offload.tier_footer import TierFooter, tail_length
from broker_core.offload.tier_groups import GroupReader
from broker_core.storage.records.block import Block

PER_GROUP = 3
GROUPS = 4
ENTRIES = [Random(number).randbytes(GROUP_BYTES // PER_GROUP + number + 1) for number in range(PER_GROUP * GROUPS)]


@pytest.fixture
def tier_file(tmp_path: Path) -> Path:
    writer = TierFileWriter(tmp_path / "7.parquet", 7, "uuid")
    for number, entry in enumerate(ENTRIES):
        writer.add(Block(7, number, entry, [0], [len(entry)], [number % 3], [1000 + number], [number]))
    writer.close()
    return tmp_path / "7.parquet"


def opened(path: Path) -> tuple[bytes, TierFooter]:
    data = path.read_bytes()
    footer = TierFooter(data[-tail_length(data) :])
    assert len(footer.index.groups) == GROUPS
    return data, footer


def read(path: Path, groups: range, altered: Callable[[bytearray, TierFooter], None] = lambda *_: None) -> list[bytes]:
    data, footer = opened(path)
    content = bytearray(data)
    altered(content, footer)
    begin, end = footer.extent(groups[0])[0], sum(footer.extent(groups[-1]))
    found = GroupReader(footer).entries(groups, begin, bytes(content[begin:end]))
    first, last = found.first, found.first + len(found.counts)
    assert list(found.counts) == [number % 3 for number in range(first, last)]
    assert list(found.publish_times) == [1000 + number for number in range(first, last)]
    assert list(found.delivery_times) == list(range(first, last))
    return [bytes(found.data[a:b]) for a, b in zip(found.offsets, found.offsets[1:], strict=False)]


@pytest.mark.parametrize("groups", [range(1), range(GROUPS), range(1, 3), range(3, 4)])
def test_row_groups_have_the_entries_that_were_written(tier_file: Path, groups: range) -> None:
    assert read(tier_file, groups) == ENTRIES[groups.start * PER_GROUP : groups.stop * PER_GROUP]


def test_one_reader_reads_groups_in_any_order(tier_file: Path) -> None:
    data, footer = opened(tier_file)
    reader = GroupReader(footer)
    for group in (2, 0, 3):
        offset, length = footer.extent(group)
        block = reader.block(group, offset, data[offset : offset + length])
        assert [block.entry(row) for row in range(len(block))] == ENTRIES[group * PER_GROUP : (group + 1) * PER_GROUP]
        assert (block.ledger_id, block.first_entry_id) == (7, group * PER_GROUP)
        assert list(block.delivery_times) == list(range(block.first_entry_id, block.last_entry_id + 1))


@pytest.mark.parametrize("group", range(1, 3))
def test_one_altered_group_of_several_is_noticed(tier_file: Path, group: int) -> None:
    def altered(content: bytearray, footer: TierFooter) -> None:
        offset, length = footer.extent(group)
        content[offset + length // 2] ^= 1

    with pytest.raises(ValueError, match=f"entries {group * PER_GROUP} and following"):
        read(tier_file, range(1, 3), altered)


def test_a_checksum_of_another_group_is_not_accepted(tier_file: Path) -> None:
    def exchanged(_: bytearray, footer: TierFooter) -> None:
        groups = footer.index.groups
        groups[1], groups[2] = groups[1]._replace(crc=groups[2].crc), groups[2]._replace(crc=groups[1].crc)

    with pytest.raises(ValueError, match=f"entries {PER_GROUP} and following"):
        read(tier_file, range(1, 3), exchanged)
