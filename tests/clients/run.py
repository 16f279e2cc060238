"""`make test-clients`: runs the Java, Go, Node, and Python tests against this broker, or against another one with
--service-url and --admin-url.

It starts a broker and a secured broker for the tests of security, runs each tool chain, writes every outcome to
build/clients/results.json, and exits with 0 if every test passed. A missing tool chain is a failure, never a skip. With
--secured, all tests use the secured broker, by TLS and a token. With --through-proxy, all use `pulsarctl proxy`. With
--real, Apache Pulsar takes the place of both brokers. The tests in differences.py are expected to fail.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

from tests.clients.compatibility_table import write_page
from tests.clients.differences import DIFFERENT, Run, judged
from tests.clients.other_cluster import other_cluster
from tests.clients.real_pulsar import plain_pulsar, secured_pulsar
from tests.clients.secured_broker import secured_broker, secured_proxy
from tests.clients.tool_chains import FAILED, PASSED, RESULTS, SKIPPED, TOOL_CHAINS, Broker, Outcome, ToolChainMissing
from tests.support.broker_process import PULSARCTL, BrokerProcess
from tests.support.proxy_process import ProxyProcess

# The tests of backlog quotas wait for the broker's check, and those of stream consumers for the end of a grace period.
# By default, both last a minute.
SETTINGS = (
    "backlogQuotaCheckIntervalInSeconds=1",
    "preciseTimeBasedBacklogQuotaCheck=true",
    "scalableTopicConsumerSessionGracePeriodSeconds=2",
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make test-clients", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=[chain.client.lower() for chain in TOOL_CHAINS])
    parser.add_argument("--service-url", help="of a running broker, instead of one of our own")
    parser.add_argument("--admin-url", help="of the same broker")
    parser.add_argument("--through-proxy", action="store_true", help="put `pulsarctl proxy` in front of the brokers")
    parser.add_argument("--real", action="store_true", help="use Apache Pulsar in place of this broker")
    parser.add_argument("--secured", action="store_true", help="run all tests with TLS and a token")
    parser.add_argument("--write-docs", action="store_true", help="write the table to docs/reference/compatibility.md")
    options = parser.parse_args()
    chains = [chain for chain in TOOL_CHAINS if not options.only or chain.client.lower() in options.only]
    chains = [chain for chain in chains if chain.on_apache or not options.real]
    try:
        for chain in chains:
            chain.check()
    except ToolChainMissing as missing:
        print(f"test-clients: {missing}", file=sys.stderr)
        return 1
    outcomes: list[Outcome] = []
    run = Run(options.real, options.through_proxy, options.secured)
    with ExitStack() as running:
        variables = running.enter_context(brokers_under_test(options))
        for chain in chains:
            started = time.monotonic()
            outcomes += (mine := list(judged(chain.run(variables), run)))
            print(f"{chain.client}: {described(mine)} in {time.monotonic() - started:.0f} s", flush=True)
    report(outcomes)
    if options.write_docs:
        write_page(outcomes)
    return int(any(outcome.result not in (PASSED, DIFFERENT) for outcome in outcomes))


@contextmanager
def brokers_under_test(options: argparse.Namespace) -> Iterator[Mapping[str, str]]:
    """Starts what is missing; yields the variables that name it for the tests."""
    with ExitStack() as running:
        scratch = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="test-clients-")))
        started = (
            secured_pulsar(scratch / "secured") if options.real else secured_broker(scratch / "secured", *SETTINGS)
        )
        secured = running.enter_context(started)
        if options.through_proxy:
            secured = running.enter_context(secured_proxy(secured, proxy_log("secured-proxy")))
        if options.secured:
            broker = Broker(secured.service_url, secured.admin_url, secured.trust_file, secured.token)
        else:
            broker = running.enter_context(plain_broker(options, scratch))
        other: Mapping[str, str] = {}
        if not (options.real or options.secured):  # clients move from this broker, to one that they trust
            other = running.enter_context(other_cluster(scratch, broker))
        yield {**broker.variables, **secured.variables, **other, "PULSARCTL": str(PULSARCTL)}


@contextmanager
def plain_broker(options: argparse.Namespace, scratch: Path) -> Iterator[Broker]:
    with ExitStack() as running:
        broker = Broker(options.service_url, options.admin_url)
        if options.real:
            pulsar = running.enter_context(plain_pulsar(scratch / "data"))
            broker = Broker(pulsar.service_url, pulsar.http_url)
        elif not (options.service_url and options.admin_url):
            own = running.enter_context(BrokerProcess(scratch / "data", *SETTINGS))
            broker = Broker(own.service_url, own.http_url)
        if options.through_proxy:
            proxy = running.enter_context(ProxyProcess(broker.service_url, broker.admin_url, proxy_log("proxy")))
            broker = Broker(proxy.service_url, proxy.http_url)
        yield broker


def proxy_log(name: str) -> Path:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    return RESULTS.with_name(f"{name}.log")


def report(outcomes: list[Outcome]) -> None:
    RESULTS.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1), encoding="utf-8")
    for outcome in outcomes:
        if outcome.result != PASSED:
            print(f"{outcome.result.upper()} {outcome.client} {outcome.test}: {outcome.reason[:200]}")


def described(outcomes: list[Outcome]) -> str:
    counts = Counter(outcome.result for outcome in outcomes)
    different = f", {counts[DIFFERENT]} different as in differences.py" if counts[DIFFERENT] else ""
    return f"{counts[PASSED]} passed, {counts[FAILED]} failed, {counts[SKIPPED]} skipped{different}"


if __name__ == "__main__":
    sys.exit(main())
