"""Requests that schemathesis generates from the OpenAPI document, each sent to a real broker.

    python -m tests.broker.admin.generated --examples 100

Half of the requests have the names of a tenant, a namespace, and topics that exist, so that they reach further than a
404. What the broker may not do: answer with a 5xx that Pulsar does not have, refuse without a reason, or not answer.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.core.result import Ok

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import TransactionConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from tests.long.abuse.known import EXPECTED_500

ANSWER_SECONDS = 20
WITH_TRANSACTIONS = BrokerConfig(server=FREE_PORTS, transactions=TransactionConfig(enabled=True))
NOT_HERE = "Not part of this broker"  # always 501, whatever the names
SETUP = (
    ("PUT", "tenants/acme", {"allowedClusters": ["standalone"]}),
    ("PUT", "namespaces/acme/shop", None),
    ("PUT", "persistent/acme/shop/plain", None),
    ("PUT", "persistent/acme/shop/parted/partitions", 2),
    ("PUT", "persistent/acme/shop/plain/subscription/s", None),
)
THERE = {
    "tenant": "acme",
    "namespace": "shop",
    "topic": "plain",
    "domain": "persistent",
    "subscription": "s",
    "cluster": "standalone",
    "bundle": "0x00000000_0x40000000",
}


@dataclass
class Report:
    operations: int = 0
    requests: int = 0
    statuses: dict[int, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def check(self, what: str, status: int, text: str) -> None:
        self.requests += 1
        self.statuses[status] = self.statuses.get(status, 0) + 1
        if status < 400:
            return
        try:
            reason = json.loads(text)["reason"]
        except (ValueError, KeyError, TypeError):
            reason = ""
        allowed = status < 500 or status == 501 or any(known in reason for known in EXPECTED_500)
        if not reason or not allowed:
            self.failures.append(f"{what}: {status} {text[:300]}")


def set_up(url: str) -> None:
    for method, path, body in SETUP:
        requests.request(method, f"{url}/admin/v2/{path}", json=body, timeout=ANSWER_SECONDS)


def run(url: str, examples: int, number: int = 0) -> Report:
    """Sends `examples` requests for each operation, twice; `number` seeds the choice."""
    report, session = Report(), requests.Session()
    document = requests.get(f"{url}/openapi.json", timeout=ANSWER_SECONDS).json()
    for operation in _operations(document):
        report.operations += 1
        _generate(operation, examples, number, lambda case: _send(session, url, case, report))
        described = document["paths"][operation.path][operation.method]
        has_names = "{tenant}" in operation.path or "{cluster}" in operation.path
        if has_names and described["summary"] != NOT_HERE:
            if operation.method == "delete":
                set_up(url)  # what the last request deleted
            _generate(operation, examples, number, lambda case: _send(session, url, _with_names(case), report))
    return report


def _generate(operation: Any, examples: int, number: int, act: Callable[[Any], None]) -> None:
    @seed(number)
    @settings(
        max_examples=examples,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def each(case: Any) -> None:
        act(case)

    each()


def _with_names(case: Any) -> Any:
    case.path_parameters.update({name: value for name, value in THERE.items() if name in case.path_parameters})
    return case


def _operations(document: dict[str, Any]) -> Iterator[Any]:
    for found in schemathesis.openapi.from_dict(document).get_all_operations():
        if isinstance(found, Ok):
            yield found.ok()


def _send(session: requests.Session, url: str, case: Any, report: Report) -> None:
    what = f"{case.method} {case.formatted_path}"
    try:
        answer = case.call(base_url=url, session=session, timeout=ANSWER_SECONDS)
    except requests.exceptions.InvalidURL:
        return  # a generated name that no URL can hold
    except requests.exceptions.RequestException as error:
        report.failures.append(f"{what}: {error!r}")
        return
    report.check(f"{what} {case.query} {str(case.body)[:200]}", answer.status_code, answer.text)


def main() -> int:
    parser = argparse.ArgumentParser(description="Send generated requests to every operation of the admin API.")
    parser.add_argument("--examples", type=int, default=100, help="Requests for each operation, times two.")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with EmbeddedBroker(config=WITH_TRANSACTIONS) as broker:
        set_up(broker.http_url)
        report = run(broker.http_url, options.examples, options.seed)
    counts = f"{report.operations} operations, {report.requests} requests, statuses "
    sys.stdout.write(f"{counts}{dict(sorted(report.statuses.items()))}\n")
    sys.stdout.writelines(f"{failure}\n" for failure in report.failures)
    return bool(report.failures)


if __name__ == "__main__":
    sys.exit(main())
