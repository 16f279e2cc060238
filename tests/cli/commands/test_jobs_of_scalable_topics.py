"""What the jobs of `ops` cannot do with scalable topics, in one sentence each."""

from pathlib import Path

import pytest

from tests.support.http_stub import HttpStub, Reply, Request
from tests.support.runner import Cli

ORDERS = "topic://public/default/orders"
SEGMENT = {"segmentId": 0, "hashRange": {"start": 0, "end": 65535}, "state": "ACTIVE", "createdAtEpoch": 0}


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("compact", ORDERS), f"cannot compact {ORDERS}: Pulsar does not compact scalable topics"),
        (("import", "./files", ORDERS), f"cannot write to {ORDERS}: jobs do not write to scalable topics"),
        (("replay", "dead", ORDERS), f"cannot write to {ORDERS}: jobs do not write to scalable topics"),
        (
            ("offload", ORDERS, "--to", "file:///store"),
            f"cannot set the store of {ORDERS}: a scalable topic has the offload policy of its namespace",
        ),
    ],
)
def test_a_job_that_makes_no_sense_is_refused(cli_alone: Cli, words: tuple[str, ...], error: str) -> None:
    done = cli_alone("ops", *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"error: {error}\n" in done.stderr


def answer_of_apache_pulsar(request: Request) -> Reply:
    """It has scalable topics, but does not tell about the ledgers of a segment."""
    if "/segments/" in request.path:
        return Reply(404, {"reason": "HTTP 404 Not Found"})
    return Reply(
        body=["topic://public/default/orders"] if request.path.endswith("default") else {"segments": {"0": SEGMENT}}
    )


def test_a_broker_that_does_not_tell_about_segments_is_named_as_the_reason(tmp_path: Path) -> None:
    with HttpStub(answer_of_apache_pulsar) as stub:
        done = Cli(tmp_path, stub.url)("ops", "verify", ORDERS)
    assert done.exit_code == 3
    assert "only pulsarctl's broker tells which ledgers and messages a segment has" in done.stderr
