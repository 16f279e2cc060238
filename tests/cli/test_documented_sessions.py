"""The sessions that the pages in docs/ show: their lines, pasted into a shell, with other ports and directories."""

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs

from tests.cli.shell.written_commands import PROMPT, in_blocks

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "how-to"
BROKER = "pulsarctl standalone --port 6650 --http-port 8080 &\nuntil pulsarctl brokers healthcheck; do :; done\n"
PORT = re.compile(r"\b(?:6650|6750|8080|8180|9000|16650|18080)\b")
SECONDS = 120.0

pytestmark = pytest.mark.slow


@pytest.fixture
def ports() -> dict[str, str]:
    """A free port for each one in the pages."""
    with ExitStack() as stack:
        documented = ("6650", "6750", "8080", "8180", "9000", "16650", "18080")
        taken = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in documented]
        return {port: str(one.getsockname()[1]) for port, one in zip(documented, taken, strict=True)}


@pytest.fixture
def bucket(ports: dict[str, str]) -> Iterator[None]:
    """`archive`, at the address of the page."""
    server = ThreadedMotoServer("127.0.0.1", int(ports["9000"]), verbose=False)
    server.start()
    endpoint = f"localhost:{ports['9000']}"
    where = {
        "endpoint_override": endpoint,
        "scheme": "http",
        "region": "us-east-1",
        "access_key": "a",
        "secret_key": "b",
    }
    fs.S3FileSystem(**where, allow_bucket_creation=True).create_dir("archive")
    yield
    server.stop()


def pasted(page: str, *sections: str) -> str:
    """The lines of these sections, without prompts and what they print, and with ports for brokers that have none."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = [re.search(rf"^#+ {re.escape(one)}\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL) for one in sections]
    shown = [line for section in found if section for line in in_blocks(section[1])]
    lines = [PROMPT.sub("", line) for line in shown if PROMPT.match(line)] or shown
    assert len(lines) >= len(sections)
    broker = re.compile(r"^(pulsarctl standalone (?!.*--port).*)&$", re.MULTILINE)
    return broker.sub(r"\1 --port 6650 --http-port 8080 &", "\n".join(lines))


def output(lines: str, ports: dict[str, str], folder: Path) -> str:
    """What the lines print, of which each must succeed. Ends the processes that they leave."""
    program = "set -e; trap 'kill $(jobs -p) 2> /dev/null; wait' EXIT\n" + lines.replace("/tmp/", f"{folder}/")
    environ = {
        "HOME": str(folder),
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "AWS_EC2_METADATA_DISABLED": "1",
    }
    environ |= {"PULSARCTL_ADMIN_URL": f"http://localhost:{ports['8080']}"}
    environ |= {"PULSARCTL_SERVICE_URL": f"pulsar://localhost:{ports['6650']}"}
    ended = subprocess.run(
        ["bash", "-m", "-c", PORT.sub(lambda found: ports[found[0]], program)],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def in_order(text: str, *expected: str) -> bool:
    at = 0
    for one in expected:
        at = text.find(one, at) + 1
        if not at:
            return False
    return True


def test_the_readme_shows_what_each_reader_gets(tmp_path: Path, ports: dict[str, str]) -> None:
    lines = pasted("../../README.md", "For whom")
    warned = "{ pulsarctl doctor || [ $? = 11 ]; }"  # its exit code says that it has a finding
    lines = lines.replace("pulsarctl doctor", warned).replace("pulsar.example.com", "localhost")
    shown = output(BROKER + lines, ports, tmp_path)
    assert in_order(shown, "content:hello", "The broker answers", "BACKLOG", "ada,20.49", '"messages" : 3')


def test_the_first_session_of_the_readme_prints_what_it_shows(tmp_path: Path, ports: dict[str, str]) -> None:
    shown = output(BROKER + pasted("../../README.md", "Sixty seconds"), ports, tmp_path)
    assert sorted(shown.splitlines()[-3:]) == ["ada paid 12.50", "ada paid 7.99", "bob paid 3.20"]
    assert in_order(shown, "ada paid 12.50", "ada paid 7.99")


def test_the_fixture_of_the_readme_runs(tmp_path: Path) -> None:
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert code
    (tmp_path / "test_orders.py").write_text(code[1])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert "1 passed" in ended.stdout


def test_the_first_session_of_the_tutorial_runs(tmp_path: Path, ports: dict[str, str]) -> None:
    sections = ("Start a broker", "Publish and consume", "Read again")
    shown = output(pasted("../tutorial/first-session.md", *sections), ports, tmp_path)
    assert in_order(
        shown, " paid ", " paid ", "No consumer is connected, and 1 message waits", " paid ", " paid ", " paid "
    )


def test_a_topic_is_queried_and_exported(tmp_path: Path, ports: dict[str, str]) -> None:
    sections = ("Publish orders with a schema", "Query the topic", "Export it")
    shown = output(BROKER + pasted("../tutorial/topic-to-query.md", *sections), ports, tmp_path)
    assert in_order(shown, "key,orders,paid\nada,2,20.5\nbob,1,3.2\n", '"messages" : 3', '"messages" : 0')
    code = re.search(r"```python\n(.*?)```", (DOCS.parent / "tutorial/topic-to-query.md").read_text("utf-8"), re.DOTALL)
    assert code
    ended = subprocess.run([sys.executable, "-c", code[1]], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "jam" in ended.stdout and "11.2" in ended.stdout


def test_a_job_of_ci_has_a_broker(tmp_path: Path, ports: dict[str, str]) -> None:
    shown = output(pasted("../tutorial/ci.md", "In a shell", "Without a server"), ports, tmp_path)
    assert in_order(shown, "persistent://public/default/orders")


def test_the_examples_of_the_tutorial_on_tests_run(tmp_path: Path) -> None:
    page = (DOCS.parent / "tutorial" / "test-fixture.md").read_text("utf-8")
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(examples) == 3
    (tmp_path / "test_orders.py").write_text("\n\n".join(examples))  # in one file, which has one broker
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert "2 passed" in ended.stdout, ended.stdout


def test_a_scalable_topic_looks_as_its_page_shows_it(tmp_path: Path, ports: dict[str, str]) -> None:
    page, seen = "scalable-topics.md", "\npulsarctl scalable-topics describe orders\n"
    lines = seen.join(
        pasted(page, *of) for of in (("Create one", "Split and merge"), ("Share a segment among consumers",))
    )
    shown = output(BROKER + lines, ports, tmp_path)
    block = re.search(r"describe orders\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)
    assert block and block[1] in shown, shown


def test_a_poison_message_goes_to_the_dead_letter_topic(tmp_path: Path, ports: dict[str, str]) -> None:
    sections = ("Let a consumer give up", "Look at them", "Send them again")
    shown = output(BROKER + pasted("dead-letters.md", *sections), ports, tmp_path)
    assert in_order(shown, "content:bad", "bad ", "REAL_TOPIC=", '"sent" : 1')


def test_a_stuck_subscription_is_explained_and_moved(tmp_path: Path, ports: dict[str, str]) -> None:
    prepared = "pulsarctl topics create-subscription orders -s billing\npulsarctl produce orders -m late\n"
    lines = pasted("stuck-subscription.md", "Find out why a subscription is stuck")
    assert in_order(output(BROKER + prepared + lines, ports, tmp_path), "No consumer is connected, and 1 message waits")


OPEN_TRANSACTION = """
import sys
sys.path.insert(0, {root!r})
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.transactions.commands import begin, publish
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer
with RawClient("pulsar://localhost:6650") as client:
    client.ask(producer("persistent://public/default/orders"), BaseCommand.PRODUCER_SUCCESS)
    publish(client, 1, b"before")
    publish(client, 2, b"in", begin(client))
    publish(client, 3, b"after")
"""


def test_the_transaction_that_holds_a_topic_is_named_and_aborted(tmp_path: Path, ports: dict[str, str]) -> None:
    script = PORT.sub(lambda found: ports[found[0]], OPEN_TRANSACTION.format(root=str(ROOT)))
    (tmp_path / "open.py").write_text(script)
    prepared = "pulsarctl topics create-subscription orders -s billing -m earliest\npython open.py\n"
    lines = pasted("transactions.md", "Find the transaction that holds a topic")
    shown = output(BROKER + prepared + lines, ports, tmp_path)
    assert in_order(shown, "Transaction (0,1) has been open", "Transaction   (0,1), open", '"OPEN"', "before", "after")
    assert "content:in\n" not in shown


def test_lines_are_published_and_acknowledged_in_transactions(tmp_path: Path, ports: dict[str, str]) -> None:
    left = "pulsarctl topics stats orders\n"
    shown = output(BROKER + pasted("transactions.md", "From the shell") + "\n" + left, ports, tmp_path)
    assert in_order(shown, "17.20", "23.50", '"committedTxnCount" : 1', '"msgBacklog" : 0')


def test_a_copied_directory_is_checked_and_read(tmp_path: Path, ports: dict[str, str]) -> None:
    lines = pasted("backup.md", "Copy a data directory", "Restore")
    assert in_order(output(BROKER + lines, ports, tmp_path), "content:hello")


def test_two_clusters_replicate_to_each_other(tmp_path: Path, ports: dict[str, str]) -> None:
    sections = (
        "Two clusters in a session",
        "Replicated subscriptions",
        "Policies for all clusters",
        "When replication stops",
    )
    shown = output(pasted("geo-replication.md", *sections), ports, tmp_path)
    assert in_order(shown, "content:from the west", '"replication"', "content:for billing", "true", "3600\n3600")


def test_a_proxy_is_used_as_if_it_were_the_broker(tmp_path: Path, ports: dict[str, str]) -> None:
    shown = output(pasted("proxy.md", "A session"), ports, tmp_path)
    assert in_order(shown, "content:hello", "msgInCounter", "pulsar_proxy_new_connections_total")


def test_a_state_is_applied_once(tmp_path: Path, ports: dict[str, str]) -> None:
    shown = output(pasted("declarative.md", "A session to paste"), ports, tmp_path)
    assert in_order(shown, "Plan: 4 to create, 0 to change, 0 to delete.", "nothing to do", "scope:")


def test_an_offloaded_topic_is_read_as_before(tmp_path: Path, ports: dict[str, str]) -> None:
    shown = output(pasted("tiered-storage.md", "A session"), ports, tmp_path)
    assert in_order(
        shown, '"copied" : 1', "Offload was a success", '"offloaded" : true', '"missing" : [ ]', "messages:"
    )
    assert shown.count("content:hello\n") == 1000


@pytest.mark.usefixtures("bucket")
def test_a_topic_is_offloaded_to_a_store_with_its_own_address(tmp_path: Path, ports: dict[str, str]) -> None:
    lines = pasted("tiered-storage.md", "MinIO and other stores with their own address")
    assert in_order(output(lines, ports, tmp_path), '"copied" : 1', '"messages" : 1000', '"isComplete" : true')


def test_a_load_is_measured(tmp_path: Path, ports: dict[str, str]) -> None:
    lines = pasted("perf.md", "A session").replace("-m 5000", "-m 500").replace("-time 10", "-time 1")
    assert in_order(output(lines, ports, tmp_path), "produce", "consume", '"role": "read"', "produce", "consume")


def test_a_message_is_encrypted_and_decrypted(tmp_path: Path, ports: dict[str, str]) -> None:
    shown = output(BROKER + pasted("encryption.md", "End-to-end encryption", "Required encryption"), ports, tmp_path)
    assert shown.count("content:hello\n") == 2
