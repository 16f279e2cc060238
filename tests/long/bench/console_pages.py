"""The web console in front of 10,000 topics with a backlog each."""

import statistics
from pathlib import Path
from urllib.parse import urlencode

from tests.long.bench.asking import seconds
from tests.long.bench.attached import TOPICS, Attached
from tests.long.bench.brokers import scratch_dir
from tests.long.bench.procfs import resident_mb
from tests.support.broker_process import BrokerProcess

RUNS = 15
NAMESPACE = {"namespace": "public/default"}
PAGES = {
    "first page of topics": f"/console/topics?{urlencode(NAMESPACE)}",
    "last page": f"/console/topics?{urlencode({**NAMESPACE, 'page': 200})}",
    "filtered": f"/console/topics?{urlencode({**NAMESPACE, 'filter': 'many-99'})}",
    "largest backlogs": "/console/backlogs",
}


def console_pages(directory: Path) -> str:
    with (
        BrokerProcess(scratch_dir(directory, "console-pages")) as process,
        Attached(process.service_url, messages=True),
    ):
        before = resident_mb(process.pid)
        pages = [f"{name} {milliseconds(process.http_url + page):.0f} ms" for name, page in PAGES.items()]
        memory = resident_mb(process.pid) - before
    return f"console, {TOPICS:,} topics with a backlog: {', '.join(pages)}; {memory:+.0f} MB"


def milliseconds(url: str) -> float:
    """The median time of a page."""
    return statistics.median(seconds(url) for _ in range(RUNS)) * 1000
