"""What a proxy costs: the same load to a broker, and through `pulsarctl proxy` to it, in turn."""

import statistics
from collections.abc import Callable
from pathlib import Path

from tests.long.bench.brokers import scratch_dir
from tests.long.bench.load import Load, Result
from tests.long.bench.procfs import cpu_seconds, peak_resident_mb
from tests.long.bench.rows import run_python
from tests.support.broker_process import BrokerProcess
from tests.support.proxy_process import ProxyProcess

ROUNDS = 3
SIZE = 10_000
LOADS = (("publish", "publish batched 10 KB", 100_000), ("consume", "catch-up consume batched 10 KB", 100_000))


def proxy(directory: Path) -> str:
    """Medians of MB/s, and of the CPU time of broker and proxy for each message."""
    log = directory / "proxy-process.log"
    with (
        BrokerProcess(scratch_dir(directory, "proxy")) as broker,
        ProxyProcess(broker.service_url, broker.http_url, log) as found,
    ):
        runs = [_round(broker, found, number) for number in range(ROUNDS)]
        memory = peak_resident_mb(found.pid)
    lines = ["through a proxy:"]
    for load, title, _ in LOADS:
        direct, through = ([one[load, way] for one in runs] for way in ("direct", "through"))
        lines.append(
            f"  {title}: {_median(through, _mb_s):.0f} MB/s ({_median(direct, _mb_s):.0f} without), CPU per message:"
            f" broker {_median(through, _broker_us):.1f} us ({_median(direct, _broker_us):.1f} without),"
            f" proxy {_median(through, _proxy_us):.1f} us"
        )
    return "\n".join([*lines, f"  memory of the proxy at most {memory:.0f} MB"])


def _round(broker: BrokerProcess, found: ProxyProcess, number: int) -> dict[tuple[str, str], Result]:
    results = {}
    for way, url in (("direct", broker.service_url), ("through", found.service_url)):
        for load, _, count in LOADS:
            before = cpu_seconds(found.pid)
            topic = f"proxy-{number}-{way}"
            result = run_python(Load(load, url, topic, count=count, size=SIZE, batched=True, pid=broker.pid))
            results[load, way] = result | {"proxy_us": (cpu_seconds(found.pid) - before) / count * 1e6}
    return results


def _median(results: list[Result], figure: Callable[[Result], float]) -> float:
    return statistics.median(figure(result) for result in results)


def _mb_s(result: Result) -> float:
    return float(result["msg_s"]) * SIZE / 1e6


def _broker_us(result: Result) -> float:
    return float(result["broker_us"])


def _proxy_us(result: Result) -> float:
    return float(result["proxy_us"])
