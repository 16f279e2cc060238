"""A real S3 server (moto), a relay with faults in front of it, and a broker that offloads there."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs

from broker_core.config.offload import OffloadConfig
from tests.support.fault_proxy import FaultProxy, Matches
from tests.support.offloaded_topic import OffloadedTopic, offloaded_topic

BUCKET = "tier"


@dataclass
class S3:
    """`filesystem` goes around the relay."""

    proxy: FaultProxy
    filesystem: Any

    def objects(self, folder: str = BUCKET) -> list[str]:
        found = self.filesystem.get_file_info(fs.FileSelector(folder, recursive=True, allow_not_found=True))
        return sorted(info.path for info in found if info.is_file)

    def of(self, topic: OffloadedTopic, ending: str = "") -> list[str]:
        return [path for path in self.objects() if f"/{topic.local_name}/" in path and path.endswith(ending)]

    def folders(self, topic: OffloadedTopic) -> list[str]:
        found = self.filesystem.get_file_info(fs.FileSelector(BUCKET, recursive=True, allow_not_found=True))
        return [info.path for info in found if not info.is_file and info.path.endswith(f"/{topic.local_name}")]

    def requests(self, topic: OffloadedTopic, method: str, ending: str = "") -> Matches:
        """Requests for the topic's objects of a kind."""
        folder = f"/{topic.local_name}/"
        return lambda each: each.method == method and folder in each.path and each.path.endswith(ending)

    def config(self, **settings: Any) -> OffloadConfig:
        chosen: dict[str, Any] = {
            "allowed_stores": "*",
            "deletion_lag_ms": -1,
            "request_timeout_ms": 2000,
            "sweep_seconds": 0.1,
        }
        chosen |= settings
        return OffloadConfig(
            driver="aws-s3", s3_bucket=BUCKET, s3_region="us-east-1", s3_endpoint=self.proxy.url, **chosen
        )


@pytest.fixture(scope="package")
def s3() -> Iterator[S3]:
    patch = pytest.MonkeyPatch()
    for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        patch.setenv(key, "testing")
    patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        with FaultProxy(f"http://{host}:{port}") as proxy:
            direct = fs.S3FileSystem(
                endpoint_override=f"{host}:{port}", scheme="http", region="us-east-1", allow_bucket_creation=True
            )
            direct.create_dir(BUCKET)
            yield S3(proxy, direct)
    finally:
        server.stop()
        patch.undo()


@pytest.fixture(scope="package")
def shared(s3: S3, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OffloadedTopic]:
    """One broker for all tests that need no settings of their own."""
    directory: Path = tmp_path_factory.mktemp("offload") / "d"
    with offloaded_topic(s3.config(), directory) as one:
        yield one


@pytest.fixture
def one(shared: OffloadedTopic, request: pytest.FixtureRequest) -> OffloadedTopic:
    """A topic of its own for each test, with a subscription that keeps everything."""
    name = f"persistent://public/default/{abs(hash(request.node.nodeid))}"
    shared.client.subscribe(name, "keeps").close()
    return OffloadedTopic(shared.broker, shared.client, name)
