"""A shared access signature is in no message: not where the store is out of reach, and not where a URI is wrong."""

import socket
import traceback
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import pytest

from broker_core.testing import EmbeddedBroker
from pulsarctl.errors import UsageProblem
from pulsarctl.transfer.object_stores import Guarded, redacted
from pulsarctl.transfer.places import place_at
from tests.support.program import Ended, run

pa = pytest.importorskip("pyarrow")

STORE = "abfss://box@acct.dfs.core.windows.net"
VERBS, BEFORE = ("import", "export"), ("", "?")
SECRET = "SECRETSIG123%3D"
SIGNATURE = f"sv=2022-11-02&ss=b&sig={SECRET}&sp=rwl"


@pytest.fixture(scope="module")
def refused(pulsar_broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Ended]:
    """What each verb said about a store out of reach, by the start of its signature.

    They run side by side, since each of them tries several times before it gives up.
    """
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch, socket.socket() as taken, ThreadPoolExecutor(4) as threads:
        for name in ("AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_KEY"):
            patch.delenv(name, raising=False)
        taken.bind(("127.0.0.1", 0))  # the port stays taken, and nothing listens there
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        uri = f"{STORE}/x?blob_storage_authority={address}&dfs_storage_authority={address}&enable_tls=false"

        def ended(verb: str, before: str) -> Ended:
            urls = {"PULSARCTL_ADMIN_URL": pulsar_broker.http_url, "PULSARCTL_SERVICE_URL": pulsar_broker.service_url}
            environ = {**urls, "AZURE_STORAGE_SAS_TOKEN": before + SIGNATURE}
            operands = (uri, "t") if verb == "import" else ("t", uri)
            return run(home, "ops", verb, *operands, environ=environ)

        begun = {chosen: threads.submit(ended, *chosen) for chosen in product(VERBS, BEFORE)}
        return {chosen: each.result() for chosen, each in begun.items()}


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("verb", VERBS)
def test_a_store_out_of_reach_is_reported_without_the_signature(
    refused: dict[tuple[str, str], Ended], verb: str, before: str
) -> None:
    outcome = refused[verb, before]
    assert outcome.exit_code == 1
    assert STORE in outcome.stderr
    assert "SECRETSIG123" not in outcome.stdout.decode() + outcome.stderr


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
