"""A directory with links, and a store that lists foreign names: nothing outside of the instance's folder changes."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from pyarrow import fs

from broker_core.offload.audit import objects_of
from broker_core.offload.stores import Store
from tests.support.offloaded_topic import OffloadedTopic, in_directory, offloaded_topic, values

FOREIGN = "9-12345678-1234-1234-1234-123456789012.parquet"


def foreign_files(directory: Path) -> list[Path]:
    files = [directory / "x" / FOREIGN, directory / "x" / "notes.txt"]
    files[0].parent.mkdir(parents=True)
    for file in files:
        file.write_bytes(b"of another program")
    return files


def test_a_sweep_removes_nothing_behind_a_link(tmp_path: Path) -> None:
    files = foreign_files(tmp_path / "other")
    with offloaded_topic(in_directory(tmp_path / "store"), tmp_path / "d") as one:
        one.publish_and_offload()
        instance = one.broker.call(one.broker.broker.tier.instance())
        (tmp_path / "store" / instance / "link").symlink_to(tmp_path / "other")
        orphan = tmp_path / "store" / instance / "public" / FOREIGN
        orphan.write_bytes(b"")
        audit = one.rest("POST", "/brokers/offload/audit?sweep=true")
        assert audit["orphans"] == [f"{instance}/public/{FOREIGN}"]
        assert not orphan.exists()
        assert all(file.exists() for file in files)
        assert len(one.entries()) == 20


def test_no_copy_is_written_behind_a_link_and_other_topics_are_offloaded(tmp_path: Path) -> None:
    with offloaded_topic(in_directory(tmp_path / "store"), tmp_path / "d") as one:
        instance = one.broker.call(one.broker.broker.tier.instance())
        folder = tmp_path / "store" / instance / "public" / "default" / "persistent" / one.local_name
        folder.parent.mkdir(parents=True)
        (tmp_path / "other").mkdir()
        folder.symlink_to(tmp_path / "other")
        one.publish(values(10))
        one.start()
        one.wait()
        assert one.topic.offloading.last_error.endswith("Too many levels of symbolic links")
        assert not list((tmp_path / "other").iterdir())
        fine = OffloadedTopic(one.broker, one.client, f"{one.name}-fine")
        one.client.subscribe(fine.name, "keeps").close()
        assert len(fine.publish_and_offload()) == 20


def test_the_root_of_a_store_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "store").symlink_to(tmp_path / "disk")
    with offloaded_topic(in_directory(tmp_path / "store"), tmp_path / "d") as one:
        assert len(one.publish_and_offload()) == 20


@pytest.mark.parametrize(
    "name", ["other/1", "me/../other/1", "me/../../../etc/passwd", "me", "meadow/1", "/etc/passwd", "me/./1"]
)
def test_names_that_a_store_makes_up_are_no_objects_of_the_instance(name: str) -> None:
    listed = [fs.FileInfo(f"bucket/{each}", fs.FileType.File, size=1) for each in ("me/a/1", name)]
    filesystem = SimpleNamespace(get_file_info=lambda selector: listed)
    assert objects_of(Store(filesystem, "bucket", "s3://bucket"), "me") == {"me/a/1": 1}
