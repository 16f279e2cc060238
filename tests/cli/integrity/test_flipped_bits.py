"""A single flipped bit of a tier file or of its manifest is found, wherever it is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from broker_core.offload.manifest import Manifest
from broker_core.offload.stores import StoreLimits, open_store
from pulsarctl.integrity.findings import Findings, merged
from pulsarctl.integrity.part_check import PartCheck
from pulsarctl.raw.entry import DamagedEntry
from pulsarctl.tables.ledger_ranges import LedgerRange
from pulsarctl.tables.tier_files import TierFile
from tests.cli.tables.topics import table
from tests.support.offloaded_topic import TOPIC, OffloadedTopic, in_directory, offloaded_topic, values

STRIDE = 5  # bytes of the tier file: one bit of every fifth byte, and each bit of its magic
Check = Callable[[], Findings]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("flips")


@pytest.fixture(scope="module")
def one(store: Path) -> Iterator[OffloadedTopic]:
    with offloaded_topic(in_directory(store)) as found:
        found.publish(values(10))
        found.offload()
        yield found


@pytest.fixture(scope="module")
def tier(one: OffloadedTopic, store: Path) -> Path:
    (found,) = store.rglob("*.parquet")
    return found


@pytest.fixture(scope="module")
def check(one: OffloadedTopic, store: Path) -> Check:
    readable = table(one.broker, TOPIC, tier_store=f"file://{store}")
    parts: list[LedgerRange] = readable.plan()
    return lambda: merged(map(PartCheck(readable), parts))


@contextmanager
def flipped(path: Path, place: int, bit: int) -> Iterator[None]:
    with path.open("r+b") as file:
        file.seek(place)
        before = file.read(1)
        for byte in (bytes([before[0] ^ (1 << bit)]), before):
            file.seek(place)
            file.write(byte)
            file.flush()
            if byte != before:
                yield


def test_no_bit_of_a_manifest_can_be_flipped(one: OffloadedTopic, store: Path) -> None:
    (path,) = store.glob("pulsarctl-*/public/**/*.json")
    text = bytearray(path.read_bytes())
    assert Manifest.decode(bytes(text)).encode() == text
    unnoticed = []
    for place in range(len(text)):
        for bit in range(8):
            text[place] ^= 1 << bit
            try:
                Manifest.decode(bytes(text))
            except (ValueError, KeyError, TypeError):
                pass
            else:
                unnoticed.append((place, bit))
            text[place] ^= 1 << bit
    assert unnoticed == []


def test_no_bit_of_a_tier_file_can_be_flipped(tier: Path, store: Path, one: OffloadedTopic) -> None:
    opened = open_store("filesystem", {"fileSystemURI": f"file://{store}"}, StoreLimits())
    ledger_id, path = int(tier.name.split("-")[0]), str(tier.relative_to(store))
    size, unnoticed = tier.stat().st_size, []
    every = [(place, bit) for place in range(4) for bit in range(8)]
    for place, bit in every + [(place, place % 8) for place in range(4, size, STRIDE)]:
        with flipped(tier, place, bit):
            try:
                found = TierFile.open(opened, path, TOPIC, ledger_id)
                assert found is not None
                found.check_bytes()
            except DamagedEntry:
                continue
        unnoticed.append((place, bit))
    assert unnoticed == []


def test_an_intact_copy_is_complete(check: Check) -> None:
    found = check()
    assert (found.messages, found.damaged, found.document()["isComplete"]) == (10, [], True)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.999])
def test_a_flipped_bit_is_damage_and_what_is_damaged_is_not_complete(check: Check, tier: Path, share: float) -> None:
    with flipped(tier, round(tier.stat().st_size * share), 3):
        found = check()
    assert "was altered" in found.damaged[0]
    assert found.document()["isComplete"] is False


def test_a_column_that_only_other_readers_use_counts(check: Check, tier: Path) -> None:
    """The bytes of the checksums that the file has for each entry."""
    import pyarrow.parquet as pq

    column = pq.read_metadata(tier).row_group(0).column(5)
    assert column.path_in_schema == "crc32c"
    with flipped(tier, column.data_page_offset + column.total_compressed_size - 2, 0):
        found = check()
    assert found.messages == 10, "the broker serves them"
    assert len(found.damaged) == 1
