"""A restore to a data directory without space: the copies stay in the store, and it succeeds when there is space."""

import json
from pathlib import Path
from urllib.error import HTTPError

import pytest

from tests.support.faulty_disk import FaultyDisk
from tests.support.offloaded_topic import in_directory, offloaded_topic


def test_a_restore_to_a_full_disk_keeps_the_copies_and_succeeds_when_there_is_space(tmp_path: Path) -> None:
    disk, store = FaultyDisk(), tmp_path / "store"
    with offloaded_topic(in_directory(store), tmp_path / "d", disk=disk) as one:
        before = one.publish_and_offload(20)
        objects = sorted(store.rglob("*"))
        disk.full = True
        with pytest.raises(HTTPError) as caught:
            one.rest("POST", "offload/restore")
        answer = caught.value.read()
        assert "No space left on device" in json.loads(answer)["reason"], answer
        assert one.entries() == before
        assert sorted(store.rglob("*")) == objects
        assert list((tmp_path / "d").rglob("*.new")) == []
        disk.full = False
        assert one.rest("POST", "offload/restore") == {one.name: 2}
        one.forget()
        assert one.entries() == before
        assert len(one.ledger_files()) >= 2
