"""The codec works with every major version of protobuf since our lower bound, since Spark users pin other versions."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAJORS = ("4.25", "5", "6", "7")
ROUND_TRIP = """
import google.protobuf, sys
from broker_core.wire.pulsar_api_pb2 import BaseCommand, MessageMetadata
from broker_core.wire.texts import with_readable_texts
from broker_core.wire.unnumbered import is_unnumbered, mark_unnumbered
command = BaseCommand(type=BaseCommand.SEND)
command.send.producer_id, command.send.sequence_id = 1, 2
assert BaseCommand.FromString(command.SerializeToString()) == command
metadata = MessageMetadata(producer_name="p", sequence_id=3, publish_time=4)
assert MessageMetadata.FromString(metadata.SerializeToString()).publish_time == 4
metadata.properties.add(key="k", value="v")
metadata.replicate_to.append("c")
assert with_readable_texts(metadata).replicate_to == ["c"]
assert not is_unnumbered(metadata)
mark_unnumbered(metadata)
assert is_unnumbered(MessageMetadata.FromString(metadata.SerializeToString()))
print(google.protobuf.__version__)
"""


@pytest.mark.slow
@pytest.mark.parametrize("version", MAJORS)
def test_the_generated_module_works_with_protobuf(version: str, tmp_path: Path) -> None:
    fetch = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:"]
    fetched = subprocess.run(
        [*fetch, "--target", str(tmp_path), f"protobuf=={version}.*"], capture_output=True, text=True
    )
    if fetched.returncode:
        pytest.skip(f"protobuf {version} cannot be fetched: {fetched.stderr.strip().splitlines()[-1]}")
    path = f"{tmp_path}:{ROOT}"
    done = subprocess.run(
        [sys.executable, "-c", ROUND_TRIP], env={"PYTHONPATH": path}, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{version}.")
