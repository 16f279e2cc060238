"""What the messaging commands import. A whole `produce` takes 0.3 s, too little for a framework."""

import pytest

from tests.cli.imported import imported_by, roots

HEAVY = {"aiohttp", "asyncio", "msgspec", "pydantic", "rich", "urllib3", "uvloop", "yaml"}
NOWHERE = ["t", "--url", "pulsar://127.0.0.1:1", "--no-context"]


@pytest.mark.parametrize("command", ["produce", "consume", "perf produce", "perf consume", "perf read", "perf e2e"])
def test_producing_and_consuming_import_only_the_official_client(command: str) -> None:
    modules = imported_by([*command.split(), *NOWHERE])
    assert "pulsar" in modules, "the command did not get as far as the client"
    assert not roots(modules) & (HEAVY | {"broker_core"})


def test_reading_imports_the_codec_but_no_client() -> None:
    modules = imported_by(["read", *NOWHERE])
    assert "broker_core.wire.frame" in modules, "the command did not get as far as the reader"
    assert not roots(modules) & (HEAVY | {"pulsar"})
    assert not {"broker_core.broker", "broker_core.storage"} & modules
