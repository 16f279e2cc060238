"""Messages that an operator let expire stay expired, whatever happens to the broker after its answer."""

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker_process import BrokerProcess
from tests.support.official_client import connect

TOPIC = "persistent/public/default/t"


def asked(broker: BrokerProcess, method: str, path: str, body: Any = None) -> Any:
    """Raises HTTPError."""
    sent = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{broker.http_url}/admin/v2/{path}", sent, method=method)
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=30) as response:
        text = response.read()
    return json.loads(text) if text else None


def backlog(broker: BrokerProcess) -> int:
    return int(asked(broker, "GET", f"{TOPIC}/stats")["subscriptions"]["s"]["msgBacklog"])


@pytest.mark.parametrize("way", ["/0", ""], ids=["by-time", "by-position"])
def test_expired_messages_do_not_come_back_after_a_kill(way: str, tmp_path: Path) -> None:
    with BrokerProcess(tmp_path) as broker:
        client = connect(broker.service_url)
        client.subscribe("t", "s").close()
        producer = client.create_producer("t", batching_enabled=False)
        last = [producer.send(b"%d" % number) for number in range(20)][-1]
        client.close()
        place = {"ledgerId": last.ledger_id(), "entryId": last.entry_id(), "partitionIndex": -1}
        asked(broker, "POST", f"{TOPIC}/subscription/s/expireMessages{way}", None if way else place)
        broker.kill()
        broker.start()
        assert backlog(broker) == 0
