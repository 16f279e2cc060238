"""Asks for pages over and over, until stdin ends, and prints the median seconds.

python -m tests.long.bench.asking URL
"""

import http.client
import statistics
import sys
import threading
import time
from urllib.parse import urlsplit

BUFFER = bytearray(1 << 20)


def seconds(url: str) -> float:
    """The time of one answer, which is read and thrown away."""
    at = urlsplit(url)
    started = time.perf_counter()
    connection = http.client.HTTPConnection(at.netloc, timeout=120)
    connection.request("GET", f"{at.path}?{at.query}" if at.query else at.path)
    answer = connection.getresponse()
    if answer.status != 200:
        raise RuntimeError(f"{url}: status {answer.status}")
    while answer.readinto(BUFFER):
        pass
    connection.close()
    return time.perf_counter() - started


def wait_for_end(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


def main() -> None:
    ended = threading.Event()
    threading.Thread(target=wait_for_end, args=(ended,), daemon=True).start()
    took: list[float] = []
    while not ended.is_set():
        took += [seconds(url) for url in sys.argv[1:]]
    print(statistics.median(took))


if __name__ == "__main__":
    main()
