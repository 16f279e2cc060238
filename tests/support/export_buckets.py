"""A real S3 server (moto) for exports, with a relay in front of it that can fail."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from pulsarctl.transfer.places import Prefix
from tests.support.fault_proxy import FaultProxy

BUCKET = "exports"


@dataclass
class S3:
    """`uri` goes through the proxy."""

    proxy: FaultProxy

    def uri(self, prefix: str) -> str:
        return f"s3://{BUCKET}/{prefix}?scheme=http&region=us-east-1&endpoint_override={self.proxy.url[7:]}"

    def place(self, prefix: str) -> Prefix:
        return Prefix(self.uri(prefix))


def set_credentials(patch: pytest.MonkeyPatch) -> None:
    """The server accepts any."""
    for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        patch.setenv(key, "testing")
    patch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@contextmanager
def s3_server(patch: pytest.MonkeyPatch) -> Iterator[S3]:
    from moto.server import ThreadedMotoServer
    from pyarrow import fs

    set_credentials(patch)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        with FaultProxy(f"http://{host}:{port}") as proxy:
            direct = {"endpoint_override": f"{host}:{port}", "scheme": "http", "region": "us-east-1"}
            fs.S3FileSystem(**direct, allow_bucket_creation=True).create_dir(BUCKET)
            yield S3(proxy)
    finally:
        server.stop()
