"""A shared access signature is in no message: not where the store is out of reach, and not where a URI is wrong."""

import socket
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.testing import EmbeddedBroker
from pulsarctl.errors import UsageProblem
from pulsarctl.transfer.object_stores import Guarded, redacted
from pulsarctl.transfer.places import place_at
from tests.cli.runner import Cli

pa = pytest.importorskip("pyarrow")

SECRET = "SECRETSIG123%3D"
SIGNATURE = f"sv=2022-11-02&ss=b&sig={SECRET}&sp=rwl"


@pytest.fixture
def refusing() -> Iterator[str]:
    """The address of a port that stays taken and where nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.parametrize("before", ["", "?"])
@pytest.mark.parametrize("verb", ["import", "export"])
def test_a_store_out_of_reach_is_reported_without_the_signature(
    pulsar_broker: EmbeddedBroker,
    refusing: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    before: str,
) -> None:
    for name in ("AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", before + SIGNATURE)
    where = f"blob_storage_authority={refusing}&dfs_storage_authority={refusing}&enable_tls=false"
    uri = f"abfss://box@acct.dfs.core.windows.net/x?{where}"
    cli = Cli(tmp_path, pulsar_broker.http_url, pulsar_broker.service_url)
    outcome = cli("ops", verb, *((uri, "t") if verb == "import" else ("t", uri)))
    assert outcome.exit_code == 1
    assert "abfss://box@acct" in outcome.stderr
    assert "SECRETSIG123" not in outcome.stdout + outcome.stderr


class Failing:
    """A call of a store that fails."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def close(self) -> None:
        raise self.error


@pytest.mark.parametrize("kind", [OSError, FileNotFoundError, pa.ArrowInvalid])
def test_not_even_the_traceback_of_a_failure_shows_the_signature(kind: type[Exception]) -> None:
    with pytest.raises(OSError) as caught, Guarded(Failing(kind(f"GET http://h/c/x?{SIGNATURE} failed"))):
        pass
    assert isinstance(caught.value, kind) or kind is pa.ArrowInvalid
    shown = "".join(traceback.format_exception_only(caught.value))
    assert ("sig=REDACTED&sp=rwl failed" in shown, "SECRETSIG123" in shown) == (True, False)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_the_streams_of_a_store_are_guarded(tmp_path: Path) -> None:
    from pyarrow import fs

    (tmp_path / "x").write_bytes(b"1")
    with Guarded(fs.LocalFileSystem()).open_input_stream(str(tmp_path / "x")) as stream:
        assert (type(stream), stream.read()) == (Guarded, b"1")


@pytest.mark.parametrize("text", [f"?{SIGNATURE}", f"x sig%3D{SECRET}", f"'SIG={SECRET}'"])
def test_a_signature_is_redacted_wherever_it_is(text: str) -> None:
    assert "SECRETSIG123" not in redacted(text)


@pytest.mark.parametrize("scheme", ["azure", "abfss", "abfs"])
def test_a_wrong_uri_is_reported_without_its_signature(scheme: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        place_at(f"{scheme}://box/x?{SIGNATURE}")
    assert "SECRETSIG123" not in str(caught.value)
