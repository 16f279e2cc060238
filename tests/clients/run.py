"""`make test-clients`: runs the Java, Go, and Node tests against this broker, or against another one with
--service-url and --admin-url.

It starts a broker, runs each tool chain, writes every outcome to build/clients/results.json, and exits with 0 if every
test passed. A missing tool chain is a failure, never a skip. With --through-proxy, all clients use `pulsarctl proxy`.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

from tests.broker_process import BrokerProcess
from tests.clients.compatibility_table import write_page
from tests.clients.tool_chains import FAILED, PASSED, RESULTS, SKIPPED, TOOL_CHAINS, Broker, Outcome, ToolChainMissing
from tests.proxy_process import ProxyProcess

# The tests of backlog quotas wait for the broker's check, which by default runs once a minute.
SETTINGS = ("backlogQuotaCheckIntervalInSeconds=1", "preciseTimeBasedBacklogQuotaCheck=true")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make test-clients", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=[chain.client.lower() for chain in TOOL_CHAINS])
    parser.add_argument("--service-url", help="of a running broker, instead of one of our own")
    parser.add_argument("--admin-url", help="of the same broker")
    parser.add_argument("--through-proxy", action="store_true", help="put `pulsarctl proxy` in front of the broker")
    parser.add_argument("--write-docs", action="store_true", help="write the table to docs/compatibility.md")
    options = parser.parse_args()
    chains = [chain for chain in TOOL_CHAINS if not options.only or chain.client.lower() in options.only]
    try:
        for chain in chains:
            chain.check()
    except ToolChainMissing as missing:
        print(f"test-clients: {missing}", file=sys.stderr)
        return 1
    outcomes: list[Outcome] = []
    with ExitStack() as running:
        broker = running.enter_context(broker_under_test(options.service_url, options.admin_url))
        if options.through_proxy:
            broker = running.enter_context(proxy_before(broker))
        for chain in chains:
            started = time.monotonic()
            outcomes += (mine := chain.run(broker))
            print(f"{chain.client}: {described(mine)} in {time.monotonic() - started:.0f} s", flush=True)
    report(outcomes)
    if options.write_docs:
        write_page(outcomes)
    return int(any(outcome.result != PASSED for outcome in outcomes))


@contextmanager
def broker_under_test(service_url: str | None, admin_url: str | None) -> Iterator[Broker]:
    if service_url and admin_url:
        yield Broker(service_url, admin_url)
        return
    with (
        tempfile.TemporaryDirectory(prefix="test-clients-") as scratch,
        BrokerProcess(Path(scratch) / "data", *SETTINGS) as broker,
    ):
        yield Broker(broker.service_url, broker.http_url)


@contextmanager
def proxy_before(broker: Broker) -> Iterator[Broker]:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    with ProxyProcess(broker.service_url, broker.admin_url, RESULTS.with_name("proxy.log")) as proxy:
        yield Broker(proxy.service_url, proxy.http_url)


def report(outcomes: list[Outcome]) -> None:
    RESULTS.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1), encoding="utf-8")
    for outcome in outcomes:
        if outcome.result != PASSED:
            print(f"{outcome.result.upper()} {outcome.client} {outcome.test}: {outcome.reason[:200]}")


def described(outcomes: list[Outcome]) -> str:
    counts = Counter(outcome.result for outcome in outcomes)
    return f"{counts[PASSED]} passed, {counts[FAILED]} failed, {counts[SKIPPED]} skipped"


if __name__ == "__main__":
    sys.exit(main())
